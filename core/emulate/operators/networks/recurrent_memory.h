#pragma once

#include <cstddef>
#include <cstdint>

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

namespace devsan::emulate {

enum class Cell : std::uint8_t { kSimple, kGru, kLstm };

/// One call of aten::lstm, gru, rnn_tanh or rnn_relu, with a batch of equal lengths or a packed one.
struct RecurrentCall {
  /// @param argument the first of the arguments of `schema`
  RecurrentCall(const c10::FunctionSchema& schema, const c10::IValue* argument);

  Cell cell = Cell::kSimple;
  std::size_t element = 0;    ///< bytes
  std::size_t positions = 0;  ///< steps x batch
  std::size_t batch = 0;
  std::size_t widest = 0;  ///< the largest input of a layer
  std::size_t hidden = 0;
  std::size_t output = 0;  ///< `hidden`, or what an LSTM projects it to
  std::size_t layers = 0;
  std::size_t directions = 1;
  std::size_t weights = 0;  ///< bytes of all parameters
  double dropout = 0;
  bool train = false;
};

// NOTE [Memory of cuDNN's recurrent networks]
// cudnnGetRNNTempSpaceSizes says how much a network takes; what it takes for which sizes is not published. These are
// fitted to what torch 2.11 with cuDNN 9 took on an H100 for 18 calls (docs/reference/gpu-parity.md): the reserve to the
// byte, the workspace within 7 MiB of what was 24 to 132. For a single layer of 16-bit numbers cuDNN may choose a kernel
// that keeps its weights in registers, by rules that differ between GPUs; its figures are near these.

/// What a training call keeps for its backward: the gates of each step, what goes from layer to layer, and what was
/// dropped there.
std::size_t recurrent_reserve(const RecurrentCall& call);

/// What forward and backward hold while they run.
std::size_t recurrent_workspace(const RecurrentCall& call);

/// The results: the output, and the last states.
std::size_t recurrent_results(const RecurrentCall& call);

}  // namespace devsan::emulate
