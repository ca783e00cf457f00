#include "diagnose/ranks/causes.h"
#include "diagnose/ranks/texts.h"
#include "diagnose/source_text.h"
#include "diagnose/texts.h"

#include <algorithm>
#include <cctype>

// What several causes about ranks propose.

namespace devsan::diagnose::ranks {

using model::Confidence;
using model::DeviceSource;
using model::Edit;
using model::Event;
using model::FixKind;
using model::Message;

bool is_received(const Event& placed) {
  return placed.owner.is("torch.distributed") && placed.owner.mechanism != "barrier";
}

void propose_set_device(RankHypothesis& found, const model::RankFacts& rank) {
  std::optional<Edit> edit;
  const model::Frame& made = rank.group_made;
  const std::string number = keyword_argument(made.source, "rank").value_or("rank");
  // Its column tells how far the statement is indented.
  if (made.is_known() && made.span.column > 0 && !made.source.empty() && !rank.process.set_device_called) {
    const std::string indentation(static_cast<std::size_t>(made.span.column - 1), ' ');
    const std::string code = set_device_code(rank.process, number);
    edit = Edit{made.file, made.span.line, made.source, code + "\n" + indentation + made.source};
  }
  found.propose(FixKind::kConfiguration, set_device_text(rank.process, number), Confidence::kLikely, std::move(edit));
}

void propose_out_of_branch(RankHypothesis& found, const model::Collective& call) {
  const Message at =
      call.condition_at.empty() ? at_text(call) : Message{", at {place}", {{"place", call.condition_at}}};
  found.propose(FixKind::kCreationSite,
                {"call {call} in every rank: take it out of the branch{at}", {{"call", call.name}, {"at", at}}});
}

void propose_own_map(RankHypothesis& found, const model::Frame& mapped, std::string_view text) {
  constexpr const char* kOwnMap = "device_map={\"\": int(os.environ[\"LOCAL_RANK\"])}";
  std::optional<Edit> edit;
  if (const auto at = text.empty() ? std::string::npos : mapped.source.find(text); at != std::string::npos) {
    std::string after = mapped.source;
    after.replace(at, text.size(), kOwnMap);
    edit = Edit{mapped.file, mapped.span.line, mapped.source, std::move(after)};
  }
  found.propose(FixKind::kConfiguration, {"load the model on its rank's GPU: {map}", {{"map", std::string(kOwnMap)}}},
                Confidence::kLikely, std::move(edit));
}

namespace {

/// `args.local_rank` in what a device was made from: the option by which torch.distributed.launch told the rank; or "".
std::string option_of_launcher(const Event& placed) {
  constexpr std::string_view kAttribute = ".local_rank";
  const std::string& said = placed.device_value.empty() ? placed.device_text : placed.device_value;
  const auto is_of_name = [&](std::size_t place) {
    return std::isalnum(static_cast<unsigned char>(said[place])) != 0 || said[place] == '_';
  };
  const auto at = said.find(kAttribute);
  if (at == std::string::npos) return "";
  const auto end = at + kAttribute.size();
  auto start = at;
  while (start > 0 && is_of_name(start - 1)) --start;
  const bool is_part = start == at || (start > 0 && said[start - 1] == '.') || (end < said.size() && is_of_name(end));
  const std::string name = said.substr(start, end - start);
  return is_part || name.starts_with("self.") ? "" : name;
}

}  // namespace

void propose_for_placement(RankHypothesis& found, const Event& placed, const model::RankFacts& rank) {
  const model::Frame* site = placed.written();
  const std::string source = site == nullptr ? "" : site->source;
  const auto edit_to = [&](std::string after) { return Edit{site->file, site->span.line, source, std::move(after)}; };
  const auto load = source.find("torch.load(");
  if (placed.owner.is("torch.distributed")) {
    if (is_received(placed)) {  // an object's tensors come back on the GPU that they were sent from
      found.propose(FixKind::kUseSite, "send CPU tensors (x.cpu()), and move what was received to this rank's GPU");
    }
    return;
  }
  if (placed.owner.setting.starts_with("device_map")) {  // one that names a GPU for every rank
    const auto map = source.find("device_map={");
    const auto closes = map == std::string::npos ? map : source.find('}', map);
    propose_own_map(found, site == nullptr ? model::Frame() : *site,
                    closes == std::string::npos ? "" : source.substr(map, closes + 1 - map));
    return;
  }
  const std::string own = own_gpu_code(rank.process);
  if (placed.kind == model::EventKind::kLoaded || load != std::string::npos) {
    // What the rank has used with tensors of its own GPU would be on the wrong device on the CPU as well.
    const bool used = std::ranges::any_of(
        rank.findings, [](const model::OwnFinding& each) { return each.kind == model::SentenceKind::kMixed; });
    const std::string where = "map_location=" + (used ? own : "\"cpu\"");
    std::optional<Edit> edit;
    const auto end = source.rfind(')');
    // One call, whose arguments end with the statement.
    const auto opens = load == std::string::npos ? std::string::npos : source.find('(', load);
    if (opens != std::string::npos && source.find("map_location") == std::string::npos) {
      int depth = 0;
      std::size_t closes = opens;
      for (; closes < source.size(); ++closes) {
        depth += source[closes] == '(' ? 1 : source[closes] == ')' ? -1 : 0;
        if (depth == 0) break;
      }
      if (closes <= end) {
        edit = edit_to(source.substr(0, closes) + ", " + where + source.substr(closes));
      }
    }
    found.propose(FixKind::kUseSite, used ? own_gpu_location_text(rank.process) : own_location_text(),
                  Confidence::kLikely, std::move(edit));
    return;
  }
  if (source_of(placed) == DeviceSource::kLiteral) {
    const std::string text = device_text_of(placed);
    std::optional<Edit> edit;
    for (const std::string_view call : {".cuda(", ".to(", "device="}) {
      const std::string said = std::string(call) + text;
      std::string after;
      std::size_t done = 0;
      bool whole = !text.empty();  // a part of a longer argument is not to be replaced
      for (auto at = source.find(said); whole && at != std::string::npos; at = source.find(said, done)) {
        const std::size_t end = at + said.size();
        whole = end < source.size() && (source[end] == ')' || source[end] == ',');
        after += source.substr(done, at + call.size() - done) +
                 (call == ".cuda(" && rank.process.set_device_called ? "" : own);
        done = end;
      }
      if (!whole || done == 0) continue;
      edit = edit_to(after + source.substr(done));
      break;
    }
    found.propose(FixKind::kCreationSite,
                  {"use this rank's GPU instead of {text}{at}", {{"text", text}, {"at", diagnose::at_text(placed)}}},
                  Confidence::kLikely, std::move(edit));
    return;
  }
  if (const std::string option = option_of_launcher(placed); !option.empty() && rank.process.is_launched()) {
    found.add_evidence(10,
                       {"Under torchrun and accelerate launch, which set LOCAL_RANK and pass no --local_rank, {option} "
                        "keeps its default.",
                        {{"option", quoted(option)}}});
    found.propose(FixKind::kCreationSite, {"give --local_rank the launcher's number as its default: {code}",
                                           {{"code", "default=int(os.environ.get(\"LOCAL_RANK\", 0))"}}});
  }
  // A variable that several lines read: it is wrong where it is given its value.
  if (const std::string text = device_text_of(placed); source_of(placed) == DeviceSource::kScalar && !text.empty()) {
    found.propose(FixKind::kCreationSite,
                  {"set {name} to this rank's GPU: {code}", {{"name", quoted(text)}, {"code", own}}});
  }
}

void propose_same_steps(RankHypothesis& found) {
  found.propose(FixKind::kConfiguration,
                "give every rank the same number of steps: DistributedSampler or DataLoader with drop_last=True");
  found.propose(FixKind::kUseSite, "let DDP wait for uneven inputs: with Join([model]): around the loop");
  found.propose(FixKind::kUseSite,
                "where a rank stops or skips a step by what it alone sees (early stopping, a loss that is not finite), "
                "let all ranks decide together: all_reduce or broadcast the decision, then act on it");
}

}  // namespace devsan::diagnose::ranks
