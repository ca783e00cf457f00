#include "diagnose/texts.h"

#include <utility>

namespace devsan::diagnose {

using model::Event;
using model::EventKind;
using model::Frame;
using model::Message;
namespace owners = model::owners;

std::string_view short_op(std::string_view op) {
  if (const auto colons = op.find("::"); colons != std::string_view::npos) op.remove_prefix(colons + 2);
  return op.substr(0, op.find('.'));
}

std::string_view last_part(std::string_view name) {
  const auto dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

std::string quoted(std::string_view name) { return "`" + std::string(name) + "`"; }

Message name_of(const model::Operand& operand) {
  if (!operand.name.empty() || !operand.qualified_name.empty() || operand.output_of.empty()) {
    return quoted(operand.best_name());
  }
  return {"the output of {module}", {{"module", operand.output_of}}};
}

std::vector<model::Argument> pair_of(const model::Operand& operand, const model::Operand& other) {
  return {{"name", name_of(operand)},
          {"device", operand.device.str()},
          {"other", name_of(other)},
          {"other_device", other.device.str()}};
}

Message text_of(const model::Owner& owner) {
  Message who = owner.is(owners::kProgram) ? Message("this program") : Message(owner.name);
  if (!owner.mechanism.empty()) {
    who = {"{owner} ({mechanism})", {{"owner", std::move(who)}, {"mechanism", owner.mechanism}}};
  }
  if (!owner.setting.empty()) who = {"{owner}: {setting}", {{"owner", std::move(who)}, {"setting", owner.setting}}};
  return who;
}

std::string text_of(const Frame* frame) {
  if (frame == nullptr || !frame->is_known()) return "";
  const auto slash = frame->file.rfind('/');
  const auto file = slash == std::string::npos ? frame->file : frame->file.substr(slash + 1);
  return frame->span.line > 0 ? file + ":" + std::to_string(frame->span.line) : file;
}

namespace {

/// What makes a rank's number among all machines that of a GPU.
constexpr const char* kOfMachine = " % torch.cuda.device_count()";

}  // namespace

std::string set_device_code(const model::Process& process, const std::string& rank) {
  const bool starts_late = process.versions.contains("lightning") || process.versions.contains("pytorch-lightning");
  if (starts_late) return "torch.cuda.set_device(int(os.environ.get(\"LOCAL_RANK\", 0)))";
  return "torch.cuda.set_device(" + (process.is_launched() ? "int(os.environ[\"LOCAL_RANK\"])" : rank + kOfMachine) +
         ")";
}

Message set_device_text(const model::Process& process, const std::string& rank) {
  return {"call {code} before the first use of CUDA and before the model is loaded",
          {{"code", set_device_code(process, rank)}}};
}

Message own_location_text() { return "load to the CPU or to this rank's GPU: torch.load(..., map_location=\"cpu\")"; }

std::string own_gpu_code(const model::Process& process) {
  if (process.set_device_called) return "\"cuda\"";
  return process.is_launched() ? "f\"cuda:{os.environ['LOCAL_RANK']}\""
                               : std::string("f\"cuda:{rank") + kOfMachine + "}\"";
}

Message own_gpu_location_text(const model::Process& process) {
  return {"load it to this rank's GPU: torch.load(..., {where})", {{"where", "map_location=" + own_gpu_code(process)}}};
}

Message at_text(const Frame* frame) {
  const std::string place = text_of(frame);
  return place.empty() ? Message() : Message{", at {place}", {{"place", place}}};
}

Message at_text(const Event& event) {
  const bool by_owner = event.owner.where.is_known();
  return at_text(by_owner ? &event.owner.where : event.kind == EventKind::kMade ? event.written() : event.site());
}

Message with_commas(std::span<const Message> items) {
  if (items.empty()) return {};
  Message all = items.front();
  for (const Message& next : items.subspan(1)) all = {"{first}, {next}", {{"first", std::move(all)}, {"next", next}}};
  return all;
}

Message list_of(std::span<const Message> items) {
  if (items.size() < 2) return with_commas(items);
  return {"{first} and {last}", {{"first", with_commas(items.first(items.size() - 1))}, {"last", items.back()}}};
}

}  // namespace devsan::diagnose
