#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/texts.h"
#include "model/facts.h"

namespace devsan::diagnose {

/// The facts with the questions that several causes ask of them. Its facts must outlive it.
class Context {
 public:
  explicit Context(const model::Facts& facts) : facts_(facts) {}

  const model::Facts& facts() const { return facts_; }
  const model::Failure& failure() const { return facts_.failure; }
  const model::Process& process() const { return facts_.process; }
  const std::vector<model::Operand>& operands() const { return facts_.failure.operands; }

  // What kind of mismatch it is.
  bool is_mismatch() const;     ///< operands on different devices, whatever the sentence
  bool across_gpus() const;     ///< two operands on two accelerators
  bool host_meets_gpu() const;  ///< one on the host, one on an accelerator
  bool has_meta() const;
  bool op_is(std::initializer_list<std::string_view> names) const;  ///< without "aten::" and overload
  bool sentence_has(std::string_view words) const;

  // Operands.
  /// The operand that `other` has to agree with: of those elsewhere the largest that has a name; null where there is none.
  const model::Operand* partner_of(const model::Operand& operand) const;
  /// The only operand on its device, where two others or more are together on another; null where there is none.
  const model::Operand* outnumbered() const;
  /// The only operand on its device, where all other tensors of the failing statement are with the other operands; null
  /// where there is none, or the statement names no others.
  const model::Operand* alone_in_statement() const;
  std::size_t index_of(const model::Operand& operand) const;
  /// A path in the model that the operand is (or that the tensor it follows is), "" when it is in none.
  std::string path_of(const model::Operand& operand) const;
  /// Whether it is one of the words, or its path or name contains one of them.
  static bool is_called(const model::Operand& operand, std::span<const std::string_view> words);
  static bool is_called(const model::Operand& operand, std::initializer_list<std::string_view> words) {
    return is_called(operand, std::span(words.begin(), words.size()));
  }
  /// Whether a map, a hook or an engine's plan put it where it is.
  bool is_placed_by_map(const model::Operand& operand) const;

  // Events.
  /// Whether it happened within the call that failed: the same step; or where nobody counts steps, in a function that
  /// was still running, at or below the call of the model.
  bool in_failing_call(const model::Event& event) const;
  /// Whether it happened in an earlier call of the same function, for certain.
  bool in_earlier_call(const model::Event& event) const;
  /// Whether it is part of what failed: in the failing call of the model, or in the function that wrote the failing
  /// operation. Not what was made outside and handed to a module.
  bool made_for_use(const model::Event& event) const;
  /// Whether it happened while an object was being constructed.
  static bool at_construction(const model::Event& event);
  /// Whether it stands outside of every function: in a script, where a file is imported, or in the body of a class.
  static bool at_module_level(const model::Event& event);
  /// Whether a function of this name was running: "step", "AlignDevicesHook.pre_forward", "__init__".
  static bool in_function(const model::Event& event, std::string_view name);

  // The failing stack.
  bool on_stack(std::string_view package) const;
  bool runs_function(std::initializer_list<std::string_view> names) const;  ///< by their last part
  bool runs_file(std::string_view part) const;  ///< a file whose name contains it is on the stack
  const model::Module* failing_module() const;  ///< whose forward is innermost

  // The model.
  const model::Model* model() const;  ///< the one that failed, null when there is none
  bool model_spans_gpus() const;
  bool any_spans_gpus() const;  ///< this model or another one
  bool is_hooked() const;
  bool has_map() const;      ///< something said where its modules go: a device map, or hooks
  bool any_has_map() const;  ///< of this model or another one
  bool is_wrapped_by(std::string_view wrapper) const;
  /// The module at `path` or its nearest parent that has a hook, null when none has.
  const model::Module* hooked_parent(std::string_view path) const;
  /// Devices on which the module's own tensors and those below it are.
  std::vector<model::Device> devices_below(std::string_view path) const;

  /// Whether an optimizer of the failing program has parameters there.
  bool trains_on(const model::Device& device) const;

  const model::Setting* setting(std::string_view part_of_name) const;
  std::string version(std::string_view distribution) const;

 private:
  /// The innermost function that both the event's and the failing stack were in; null where they share none.
  const model::Frame* shared_function(const model::Event& event) const;

  const model::Facts& facts_;
};

}  // namespace devsan::diagnose
