#pragma once

#include <optional>
#include <span>

#include "diagnose/hypothesis.h"
#include "diagnose/scene.h"

namespace devsan::diagnose {

/// What one cause makes of the facts: none where it sees none of its signs.
using Cause = std::optional<Hypothesis> (*)(const Scene&);

// One file each, in the order of the codes.
std::optional<Hypothesis> single_device_assumption(const Scene& scene);
std::optional<Hypothesis> fresh_tensor(const Scene& scene);
std::optional<Hypothesis> host_boundary(const Scene& scene);
std::optional<Hypothesis> reduction_boundary(const Scene& scene);
std::optional<Hypothesis> map_gap(const Scene& scene);
std::optional<Hypothesis> kv_cache(const Scene& scene);
std::optional<Hypothesis> split_block(const Scene& scene);
std::optional<Hypothesis> unregistered_state(const Scene& scene);
std::optional<Hypothesis> sidecar_state(const Scene& scene);
std::optional<Hypothesis> optimizer_state(const Scene& scene);
std::optional<Hypothesis> random_and_default_device(const Scene& scene);
std::optional<Hypothesis> meta_tensor(const Scene& scene);
std::optional<Hypothesis> stale_device_cache(const Scene& scene);
std::optional<Hypothesis> offload_engine(const Scene& scene);
std::optional<Hypothesis> current_device(const Scene& scene);
std::optional<Hypothesis> moved_after_dispatch(const Scene& scene);
std::optional<Hypothesis> data_parallel_on_placed_model(const Scene& scene);
std::optional<Hypothesis> refused_owners(const Scene& scene);
std::optional<Hypothesis> silent_transfer(const Scene& scene);

/// All of them: the registry.
std::span<const Cause> causes();

}  // namespace devsan::diagnose
