#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "plan/solve.h"

namespace devsan::bindings {

namespace py = pybind11;

namespace {

using BlockTuple = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool>;
using EdgeTuple = std::tuple<int, int, std::int64_t>;

py::object plan_blocks(const std::vector<BlockTuple>& blocks, const std::vector<EdgeTuple>& edges,
                       std::vector<std::int64_t> budgets, bool trains, bool keeps_gradients) {
  plan::Problem problem;
  problem.budgets = std::move(budgets);
  problem.trains = trains;
  problem.keeps_gradients = keeps_gradients;
  for (const auto& block : blocks) problem.blocks.push_back(std::make_from_tuple<plan::Block>(block));
  for (const auto& edge : edges) problem.edges.push_back(std::make_from_tuple<plan::Edge>(edge));
  std::optional<plan::Placement> found;
  {
    const py::gil_scoped_release others_run;
    found = plan::solve(problem);
  }
  if (!found) return py::none();
  return py::make_tuple(found->gpus, found->peaks, found->transferred);
}

}  // namespace

void bind_plan(py::module_& module) {
  module.def("plan_blocks", &plan_blocks, py::arg("blocks"), py::arg("edges"), py::arg("budgets"), py::arg("trains"),
             py::arg("keeps_gradients"));
}

}  // namespace devsan::bindings
