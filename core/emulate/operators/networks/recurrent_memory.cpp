#include "emulate/operators/networks/recurrent_memory.h"

#include <algorithm>
#include <string_view>

#include <ATen/core/Tensor.h>

namespace devsan::emulate {
namespace {

/// Of what a layer computes for each step, unit and direction, as many numbers are kept.
std::size_t kept_gates(Cell cell) {
  switch (cell) {
    case Cell::kLstm:
      return 5;
    case Cell::kGru:
      return 6;
    default:
      return 1;
  }
}

std::size_t bytes_of(const at::Tensor& tensor) { return tensor.defined() ? tensor.nbytes() : 0; }

std::size_t size_of(const at::Tensor& tensor, std::int64_t dim) { return static_cast<std::size_t>(tensor.size(dim)); }

Cell cell_of(std::string_view op) {
  if (op == "aten::lstm") return Cell::kLstm;
  return op == "aten::gru" ? Cell::kGru : Cell::kSimple;
}

}  // namespace

RecurrentCall::RecurrentCall(const c10::FunctionSchema& schema, const c10::IValue* argument)
    : cell(cell_of(schema.name())) {
  const at::Tensor& input = argument[0].toTensor();
  const auto value = [&](const char* name) -> const c10::IValue& {
    return argument[*schema.argumentIndexWithName(name)];
  };
  const c10::IValue& states = value("hx");
  // The state of the cell, which a projection leaves as it is, stands second.
  const at::Tensor& first = states.isTensor() ? states.toTensor() : states.toListRef().front().toTensor();
  const at::Tensor& last = states.isTensor() ? first : states.toListRef().back().toTensor();
  const std::size_t width = size_of(input, -1);
  element = input.itemsize();
  positions = width == 0 ? 0 : static_cast<std::size_t>(input.numel()) / width;
  batch = size_of(first, 1);
  hidden = size_of(last, 2);
  output = size_of(first, 2);
  layers = static_cast<std::size_t>(value("num_layers").toInt());
  directions = value("bidirectional").toBool() ? 2 : 1;
  widest = layers > 1 ? std::max(width, output * directions) : width;
  dropout = value("dropout").toDouble();
  train = value("train").toBool();
  for (const c10::IValue& parameter : value("params").toListRef()) weights += bytes_of(parameter.toTensor());
}

std::size_t recurrent_reserve(const RecurrentCall& call) {
  if (!call.train || call.layers == 0) return 0;
  constexpr std::size_t kDroppedInByte = 4;
  const std::size_t units = call.positions * call.hidden * call.directions;
  const std::size_t between = call.positions * call.output * call.directions * (call.layers - 1);
  const std::size_t dropped = call.dropout > 0 ? between / kDroppedInByte : 0;
  return (kept_gates(call.cell) * units * call.layers + between) * call.element + dropped;
}

std::size_t recurrent_workspace(const RecurrentCall& call) {
  constexpr std::size_t kOfOneCall = 7586304;
  constexpr std::size_t kPositions = 4;
  constexpr std::size_t kBatches = 12;
  constexpr std::size_t kBatchesOfLayer = 10;
  const std::size_t positions = kPositions * call.positions * (call.hidden + call.widest) * call.directions;
  const std::size_t states = (kBatches + kBatchesOfLayer * call.layers) * call.batch * call.hidden;
  return (positions + states) * call.element + call.weights + kOfOneCall;
}

std::size_t recurrent_results(const RecurrentCall& call) {
  const std::size_t states = call.layers * call.directions * call.batch;
  const std::size_t cells = call.cell == Cell::kLstm ? states * call.hidden : 0;
  return (call.positions * call.output * call.directions + states * call.output + cells) * call.element;
}

}  // namespace devsan::emulate
