#include "diagnose/gap.h"

#include <algorithm>

namespace devsan::diagnose {

Gap::Gap(const Context& its_context, const model::Operand& its_operand, const model::Operand& its_partner)
    : context(its_context),
      operand(its_operand),
      partner(its_partner),
      module(model::parent_of(context.path_of(operand))),
      name(module.empty() ? context.model()->type : module),
      placed(placement_of(operand.provenance)),
      never_moved(placed == nullptr || placed->kind != model::EventKind::kMoved) {}

bool is_cut_by_map(const Gap& gap) {
  const auto& map = gap.model().device_map;
  return entry_for(map, gap.context.path_of(gap.operand)) != nullptr &&
         std::ranges::any_of(map, [&](const model::MapEntry& entry) {
           return entry.key != gap.module && model::is_under(entry.key, gap.module) &&
                  gap.model().find(entry.key) != nullptr;
         });
}

bool is_beside_map(const Gap& gap) {
  const auto reaches = [&](const std::string& part) { return model::is_under(gap.module, part); };
  return !gap.model().mapped.empty() && std::ranges::none_of(gap.model().mapped, reaches);
}

}  // namespace devsan::diagnose
