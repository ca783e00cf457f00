// The small parts: what a statement says about a device, devices and maps, identities, the list of codes.

#include <set>

#include "diagnose/case.h"
#include "diagnose/codes.h"
#include "diagnose/source_text.h"

namespace devsan::diagnose::test {

TEST(Device, ReadsWhatTorchWrites) {
  EXPECT_EQ(Device("cuda:11").index, 11);
  EXPECT_EQ(Device("cuda").index, -1);
  EXPECT_EQ(Device("3").str(), "cuda:3");
  EXPECT_EQ(Device("cpu").str(), "cpu");
  EXPECT_TRUE(Device("cpu").is_host());
  EXPECT_TRUE(Device("xpu:1").is_accelerator());
  EXPECT_FALSE(Device("meta").is_accelerator());
  EXPECT_FALSE(Device("disk").is_accelerator());
  EXPECT_FALSE(Device().is_known());
}

TEST(DeviceMap, LongestEntryDecides) {
  const std::vector<model::MapEntry> map = {{"model", "cuda:0"}, {"model.layers.1", "cuda:1"}};
  EXPECT_EQ(model::entry_for(map, "model.layers.1.mlp")->device, Device("cuda:1"));
  EXPECT_EQ(model::entry_for(map, "model.layers.11.mlp")->device, Device("cuda:0"));
  EXPECT_EQ(model::entry_for(map, "lm_head"), nullptr);
  EXPECT_EQ(model::entry_for({{"", "cuda:2"}}, "lm_head")->device, Device("cuda:2"));
}

TEST(SourceText, DeviceArgument) {
  EXPECT_EQ(device_argument("x = torch.zeros((3, 4), device=hparams.device, dtype=d)"), "hparams.device");
  EXPECT_EQ(device_argument("x = torch.zeros(3, device=f\"cuda:{h(1, 2)}\")"), "f\"cuda:{h(1, 2)}\"");
  EXPECT_EQ(device_argument("y = x.to(1)"), "1");
  EXPECT_EQ(device_argument("y = x.to(other.device, non_blocking=True)"), "other.device");
  EXPECT_EQ(device_argument("y = x.cuda()"), "\"cuda\"");
  EXPECT_EQ(device_argument("y = x.to(torch.float16)"), std::nullopt);
  EXPECT_EQ(device_argument("y = x.to(cos.dtype)"), std::nullopt);
  EXPECT_EQ(device_argument("y = x.to(cos.dtype).to(device)"), "device");
  EXPECT_EQ(device_argument("device = \"cuda\""), std::nullopt);
  EXPECT_EQ(device_argument("x = torch.ones(3)"), std::nullopt);
  EXPECT_EQ(device_argument("x = make(device == 3)"), std::nullopt);
}

TEST(SourceText, HowADeviceIsSaid) {
  EXPECT_EQ(source_of_text("\"cuda\""), DeviceSource::kCurrent);
  EXPECT_EQ(source_of_text("torch.device('cuda')"), DeviceSource::kCurrent);
  EXPECT_EQ(source_of_text("torch.cuda.current_device()"), DeviceSource::kCurrent);
  EXPECT_EQ(source_of_text("\"cuda:0\""), DeviceSource::kLiteral);
  EXPECT_EQ(source_of_text("torch.device(\"cuda:1\")"), DeviceSource::kLiteral);
  EXPECT_EQ(source_of_text("'cpu'"), DeviceSource::kLiteral);
  EXPECT_EQ(source_of_text("0"), DeviceSource::kLiteral);
  EXPECT_EQ(source_of_text("f\"cuda:{n}\""), DeviceSource::kScalar);
  EXPECT_EQ(source_of_text("device"), DeviceSource::kScalar);
  EXPECT_EQ(source_of_text("self.device"), DeviceSource::kScalar);
  EXPECT_EQ(source_of_text("self.args.device"), DeviceSource::kScalar);
  EXPECT_EQ(source_of_text("next(model.parameters()).device"), DeviceSource::kScalar);
  EXPECT_EQ(source_of_text("hidden_states.device"), DeviceSource::kPeer);
  EXPECT_EQ(source_of_text("None"), DeviceSource::kDefault);
}

TEST(SourceText, OnlyWholeNames) {
  EXPECT_EQ(replace_word("y = x + xs[x_1]", "x", "x.to(d)"), "y = x.to(d) + xs[x_1]");
  EXPECT_EQ(replace_word("y = x + x", "x", "z"), std::nullopt);
  EXPECT_EQ(replace_word("y = loss(a.x, x.view(-1))", "x", "x.to(d)"), "y = loss(a.x, x.to(d).view(-1))");
  EXPECT_EQ(replace_word("y = x + x.mean()", "x", "z"), std::nullopt);
}

TEST(SourceText, AddsADevice) {
  EXPECT_EQ(with_device("m = torch.ones(n, m)", "aten::ones", "x.device"), "m = torch.ones(n, m, device=x.device)");
  EXPECT_EQ(with_device("m = torch.rand()", "aten::rand", "x.device"), "m = torch.rand(device=x.device)");
  EXPECT_EQ(with_device("m = torch.ones(3, device=\"cuda:0\")", "aten::ones", "x.device"),
            "m = torch.ones(3, device=x.device)");
  EXPECT_EQ(with_device("m = torch.ones(3,", "aten::ones", "x.device"), std::nullopt);
  EXPECT_EQ(with_device("m = ones(3)", "aten::ones", "x.device"), std::nullopt);
  // Of two calls it is not known which one makes the tensor.
  EXPECT_EQ(with_device("a, b = torch.ones(3), torch.ones(3)", "aten::ones", "x.device"), std::nullopt);
  EXPECT_EQ(with_device("a = [torch.ones(3, device=0), torch.ones(3, device=0)]", "aten::ones", "x.device"),
            std::nullopt);
}

TEST(Provenance, PlacementIsWhatDecidedTheDevice) {
  const model::Provenance provenance = {computed("cuda:1", "aten::mm", "w"),
                                        event(EventKind::kShared, "cuda:1", "", {}), mapped("cuda:1", "layers.1")};
  EXPECT_EQ(model::placement_of(provenance)->owner.name, "accelerate");
  EXPECT_EQ(model::placement_of({}), nullptr);
  const Event deep = made("cpu", {lib("torch", "t.py", 1, "f"), own("a.py", 2, "g"), own("b.py", 3, "main")});
  EXPECT_EQ(deep.site()->file, "a.py");
}

TEST(Identity, DoesNotDependOnLinesAndFolders) {
  const auto context_at = [](const std::string& folder, int line) {
    Case context;
    context.mixes("aten::add", "cuda:0", "cpu").frames({own(folder + "/net.py", line + 5, "f", "return x + y")});
    context.operand("self", "x", OperandKind::kInput, "cuda:0");
    context.operand("other", "y", OperandKind::kLocal, "cpu",
                    {made("cpu", {own(folder + "/net.py", line, "f", "y = torch.ones(3)")})});
    return diagnose(context.facts).front();
  };
  const auto one = context_at("here", 10);
  const auto moved_down = context_at("there", 90);
  EXPECT_EQ(one.code, "DV102");
  EXPECT_EQ(one.id, moved_down.id);
  EXPECT_EQ(one.cause, moved_down.cause);
  EXPECT_EQ(one.id.size(), 12u);
}

TEST(Codes, AreDistinctAndComplete) {
  std::set<std::string_view> seen;
  std::string_view before;
  for (const Code& code : codes()) {
    EXPECT_TRUE(seen.insert(code.code).second && seen.insert(code.name).second) << code.code;
    EXPECT_LT(before, code.code);
    before = code.code;
    EXPECT_EQ(code.code.size(), 5u);
    EXPECT_FALSE(code.summary.empty()) << code.code;
    EXPECT_EQ(find_code(code.code), &code);
  }
  EXPECT_EQ(find_code(kUndecided), nullptr);
}

}  // namespace devsan::diagnose::test
