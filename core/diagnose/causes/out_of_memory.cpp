#include "memory/out_of_memory.h"

#include <algorithm>

#include "diagnose/causes.h"
#include "diagnose/held_memory.h"
#include "diagnose/memory_advice.h"
#include "diagnose/texts.h"

namespace devsan::diagnose {

using memory::format_size;
using model::Confidence;
using model::FixKind;
using model::HeldMemory;
using model::Message;

namespace {

void tell_figures(const HeldMemory& held, Hypothesis& found) {
  const std::uint64_t context = held.process - std::min(held.process, held.reserved);
  // A small tensor takes a segment that others share.
  const char* asked = held.tried == held.requested
                          ? "The program asked for {requested} of {device}, and {free} of {total} are free."
                          : "The program asked for {requested}: torch needs {tried} of {device} for it, and {free} of "
                            "{total} are free.";
  found.add_evidence(90, {asked,
                          {{"requested", format_size(held.requested)},
                           {"tried", format_size(held.tried)},
                           {"device", held.device.str()},
                           {"free", format_size(held.free)},
                           {"total", format_size(held.total)}}});
  if (!held.parts.empty()) {
    found.add_evidence(0, allocated_of(held));
  }
  if (Message holders = holders_of(held); !holders.empty()) found.add_evidence(0, std::move(holders));
  if (held.others > 0) found.add_evidence(0, {"Other processes take {bytes}.", {{"bytes", format_size(held.others)}}});
  if (held.allowed > 0) {
    found.add_evidence(0, {"torch.cuda.set_per_process_memory_fraction allows this process {bytes}.",
                           {{"bytes", format_size(held.allowed)}}});
  }
  found.add_evidence(0, {"{cached} are reserved but unallocated, and the CUDA context takes {context}.",
                         {{"cached", format_size(cached_of(held))}, {"context", format_size(context)}}});
}

}  // namespace

// A GPU has no room for what was asked for. Who holds its memory is known on emulated GPUs; on others torch's sentence has
// the only figures.
std::optional<Hypothesis> out_of_memory(const Context& context) {
  const model::Failure& failure = context.failure();
  if (failure.kind != model::SentenceKind::kMemory) return std::nullopt;
  Hypothesis found(code::kOutOfMemory);
  if (!failure.memory) {
    found.add_evidence(90, "The GPU had less free memory than was requested.");
    found.propose(FixKind::kConfiguration,
                  "run the program with devsan run on an emulated GPU of the same size: it shows what holds the memory",
                  Confidence::kPossible);
    return found;
  }
  const HeldMemory& held = *failure.memory;
  found.title = {"{device} is out of memory: {requested} requested, {free} free of {total}",
                 {{"device", held.device.str()},
                  {"requested", format_size(held.tried)},
                  {"free", format_size(held.free)},
                  {"total", format_size(held.total)}}};
  tell_figures(held, found);
  advise(context, held, found);
  return found;
}

}  // namespace devsan::diagnose
