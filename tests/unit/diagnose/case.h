#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "diagnose/diagnose.h"
#include "model/facts.h"

namespace devsan::diagnose::test {

using model::Device;
using model::DeviceSource;
using model::Event;
using model::EventKind;
using model::Frame;
using model::Operand;
using model::OperandKind;
using model::Phase;
using model::SentenceKind;

/// A line of the program.
inline Frame own(std::string file, int line, std::string function, std::string source = "", std::string module = "") {
  return {std::move(file), {line, 1, line, 0}, std::move(function), std::move(source), "", std::move(module)};
}

/// A line of a library.
inline Frame lib(std::string package, std::string file, int line, std::string function, std::string source = "",
                 std::string module = "") {
  Frame frame = own(std::move(file), line, std::move(function), std::move(source), std::move(module));
  frame.package = std::move(package);
  return frame;
}

/// What a stack of torch's looks like where a module is called.
inline Frame call_impl() { return lib("torch", "torch/nn/modules/module.py", 1775, "Module._call_impl"); }

inline Event event(EventKind kind, Device device, std::string owner, std::vector<Frame> stack) {
  Event made;
  made.kind = kind;
  made.device = std::move(device);
  made.owner.name = std::move(owner);
  made.stack = std::move(stack);
  return made;
}

inline Event made(Device device, std::vector<Frame> stack, std::string owner = "program") {
  return event(EventKind::kMade, std::move(device), std::move(owner), std::move(stack));
}

inline Event moved(Device device, std::vector<Frame> stack, std::string owner = "program") {
  return event(EventKind::kMoved, std::move(device), std::move(owner), std::move(stack));
}

inline Event computed(Device device, std::string op, std::string followed) {
  Event result = event(EventKind::kComputed, std::move(device), "", {});
  result.op = std::move(op);
  result.followed = std::move(followed);
  return result;
}

/// A weight that accelerate's dispatch put on `device`.
inline Event mapped(Device device, const std::string& key) {
  const std::string setting = "device_map[\"" + key + "\"] = " + std::to_string(device.index);
  Event placed = event(EventKind::kLoaded, std::move(device), "accelerate",
                       {lib("accelerate", "accelerate/utils/modeling.py", 280, "set_module_tensor_to_device"),
                        own("load.py", 8, "<module>", "model = AutoModel.from_pretrained(path, device_map=\"auto\")")});
  placed.owner.mechanism = "AlignDevicesHook";
  placed.owner.setting = setting;
  placed.source = DeviceSource::kMap;
  return placed;
}

/// What a hook brought to `device` before a module's forward.
inline Event hooked(Device device) {
  return event(EventKind::kMoved, std::move(device), "accelerate",
               {lib("accelerate", "accelerate/hooks.py", 360, "AlignDevicesHook.pre_forward")});
}

/// Facts under construction: a thin layer over model::Facts that keeps the tests to one line a fact.
struct Case {
  model::Facts facts;

  Case& fails(std::string op, std::string sentence, SentenceKind kind = SentenceKind::kMixed,
              Phase phase = Phase::kForward) {
    facts.failure.op = std::move(op);
    facts.failure.sentence = std::move(sentence);
    facts.failure.kind = kind;
    facts.failure.phase = phase;
    return *this;
  }
  /// torch's words for a mismatch of two devices.
  Case& mixes(std::string op, const std::string& one, const std::string& other, Phase phase = Phase::kForward) {
    return fails(
        std::move(op),
        "Expected all tensors to be on the same device, but found at least two devices, " + one + " and " + other + "!",
        SentenceKind::kMixed, phase);
  }
  Case& frames(std::vector<Frame> innermost_first) {
    facts.failure.frames = std::move(innermost_first);
    return *this;
  }
  Operand& operand(std::string role, std::string name, OperandKind kind, Device device,
                   model::Provenance provenance = {}) {
    Operand operand;
    operand.role = std::move(role);
    operand.name = std::move(name);
    operand.kind = kind;
    operand.device = std::move(device);
    operand.provenance = std::move(provenance);
    operand.bytes = 1024;
    facts.failure.operands.push_back(std::move(operand));
    return facts.failure.operands.back();
  }
  model::Model& model() {
    if (facts.models.empty()) facts.models.emplace_back();
    return facts.models.front();
  }
  Case& map(std::initializer_list<model::MapEntry> entries) {
    model().device_map = entries;
    return *this;
  }
  model::Module& module(std::string path, std::string type, std::vector<model::ModuleTensor> tensors = {},
                        Device hook = {}) {
    model::Module module;
    module.path = std::move(path);
    module.type = std::move(type);
    module.is_container = module.type == "ModuleList" || module.type == "Sequential";
    module.tensors = std::move(tensors);
    if (hook.is_known()) {
      model::Hook align;
      align.owner.name = "accelerate";
      align.owner.mechanism = "AlignDevicesHook";
      align.type = "AlignDevicesHook";
      align.execution_device = std::move(hook);
      module.hooks.push_back(std::move(align));
    }
    model().modules.push_back(std::move(module));
    return model().modules.back();
  }
};

inline model::ModuleTensor weight(Device device, std::string name = "weight") {
  return {std::move(name), false, true, std::move(device), "float32", 4096};
}

inline model::ModuleTensor buffer(Device device, std::string name, bool persistent = true) {
  return {std::move(name), true, persistent, std::move(device), "float32", 64};
}

inline std::string text_of(const std::vector<model::Finding>& findings) {
  std::string text;
  for (const model::Finding& finding : findings) {
    text += finding.code + " " + finding.title.text();
    for (const std::string& candidate : finding.candidates) text += " [" + candidate + "]";
    for (const model::Message& sentence : finding.evidence) text += "\n    " + sentence.text();
    text += "\n";
  }
  return text;
}

/// The first finding; its code has to be `code`.
inline model::Finding expect_code(const Case& context, const std::string& code) {
  const auto findings = diagnose(context.facts);
  if (findings.empty()) {
    ADD_FAILURE() << "expected " << code << ", got no finding";
    return {};
  }
  EXPECT_EQ(findings.front().code, code) << text_of(findings);
  if (code != "DV000") {
    EXPECT_FALSE(findings.front().evidence.empty());
    EXPECT_FALSE(findings.front().fixes.empty()) << code << " proposes nothing";
    EXPECT_FALSE(findings.front().title.empty());
  }
  return findings.front();
}

inline void expect_operand(const Case& context, const model::Finding& finding, const std::string& name) {
  ASSERT_FALSE(finding.operands.empty()) << finding.title.text();
  EXPECT_EQ(context.facts.failure.operands[finding.operands.front()].best_name(), name) << finding.title.text();
}

inline void expect_evidence(const model::Finding& finding, const std::string& words) {
  for (const model::Message& sentence : finding.evidence) {
    if (sentence.text().find(words) != std::string::npos) return;
  }
  ADD_FAILURE() << "no evidence says \"" << words << "\":\n" << text_of({finding});
}

inline void expect_fix(const model::Finding& finding, model::FixKind kind, const std::string& words) {
  for (const model::Fix& fix : finding.fixes) {
    if (fix.kind == kind && fix.text.text().find(words) != std::string::npos) return;
  }
  std::string all;
  for (const model::Fix& fix : finding.fixes) all += "\n    " + fix.text.text();
  ADD_FAILURE() << "no fix says \"" << words << "\":" << all;
}

}  // namespace devsan::diagnose::test
