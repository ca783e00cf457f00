#include "collectives/call.h"

#include <array>

#include <c10/core/ScalarType.h>

namespace devsan::collectives {

Python& python() {
  static Python functions;
  return functions;
}

// Made once: a call is not to allocate.
std::string_view name_of(at::ScalarType type) {
  static const auto names = [] {
    std::array<std::string, static_cast<std::size_t>(at::ScalarType::NumOptions)> all;
    for (std::size_t i = 0; i < all.size(); ++i) {
      try {
        all[i] = c10::getDtypeNames(static_cast<at::ScalarType>(i)).first;
      } catch (const std::exception&) {
        all[i] = c10::toString(static_cast<at::ScalarType>(i));
      }
    }
    return all;
  }();
  return names[static_cast<std::size_t>(type)];
}

CallSite call_site() {
  CallSite site;
  if (python().locate != nullptr) python().locate(site);
  return site;
}

Call without_python(Call call) {
  for (auto* tensors : {&call.inputs, &call.outputs}) {
    for (at::Tensor& tensor : *tensors) {
      tensor = at::Tensor(tensor.unsafeGetTensorImpl()->shallow_copy_and_detach(
          /*version_counter=*/0, /*allow_tensor_metadata_change=*/true));
    }
  }
  return call;
}

Noted::Noted(const Call& call, const CallSite& site, const Group& group, std::uint32_t group_number)
    : flight_recorder_(FlightRecorder::of_process()) {
  if (flight_recorder_ == nullptr) return;
  CallNote note;
  note.name = call.name;
  note.sequence = call.sequence;
  note.elements = call.elements_in;
  note.group = group_number;
  if (call.peer >= 0) note.peer = group.global_rank(call.peer);
  if (const at::Tensor* tensor = call.first()) {
    note.dtype = name_of(tensor->scalar_type());
    note.shape = tensor->sizes().data();
    note.dims = tensor->sizes().size();
    note.bytes = call.elements_in * static_cast<std::int64_t>(tensor->element_size());
    note.device = tensor->device().index();
  }
  note.site = site;
  token_ = flight_recorder_->begin(note);
}

void Noted::waiting(bool waits) noexcept {
  if (flight_recorder_ != nullptr) flight_recorder_->waiting(token_, waits);
}

void Noted::end(std::string_view error) noexcept {
  if (flight_recorder_ != nullptr) flight_recorder_->end(token_, error);
}

}  // namespace devsan::collectives
