// Generators, the default device, and what the facts do not decide.

#include "diagnose/programs.h"

namespace devsan::diagnose::test {

using model::FixKind;

TEST(RandomAndDefault, Diffusers6501HostGenerator) {
  Case context;
  context.fails("aten::normal_", "Expected a 'cuda' device type for generator but found 'cpu'",
                SentenceKind::kGenerator);
  context.operand("generator", "generator", OperandKind::kGenerator, "cpu");
  const auto finding = expect_code(context, "DV111");
  expect_fix(finding, FixKind::kCreationSite, "the random numbers change");
  expect_operand(context, finding, "generator");
}

TEST(RandomAndDefault, Rtfm47SamplerUnderADefaultDevice) {
  Case context;
  context.facts.process.default_device = "cuda:0";
  context.facts.process.default_set = made("cuda:0", {train(2, "torch.set_default_device(\"cuda\")")});
  context
      .fails("aten::randperm", "Expected a 'cuda' device type for generator but found 'cpu'", SentenceKind::kGenerator)
      .frames({lib("torch", "torch/utils/data/sampler.py", 150, "RandomSampler.__iter__"), train(12)});
  const auto finding = expect_code(context, "DV111");
  EXPECT_EQ(finding.fixes.front().kind, FixKind::kConfiguration);
  expect_evidence(finding, "train.py:2");
}

TEST(RandomAndDefault, Pytorch118084SameRootOtherWords) {
  Case context;
  context.facts.process.default_device = "cuda:0";
  context
      .fails(
          "",
          "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
          SentenceKind::kNumpy)
      .frames({lib("torch", "torch/utils/data/sampler.py", 170, "RandomSampler.__iter__"), train(12)});
  Event permuted = made("cuda:0",
                        {lib("torch", "torch/utils/data/sampler.py", 168, "RandomSampler.__iter__",
                             "torch.randperm(n, generator=generator).numpy()")},
                        "torch");
  permuted.source = DeviceSource::kDefault;
  context.operand("self", "torch.randperm(n)", OperandKind::kTemporary, "cuda:0", {permuted});
  expect_code(context, "DV111");
}

TEST(RandomAndDefault, NotWithoutAChangedDefault) {
  Case context;
  context.facts.process.default_device = "cpu";
  context.fails("", "can't convert cuda:0 device type tensor to numpy.", SentenceKind::kNumpy);
  expect_code(context, "DV103");
}

TEST(Undecided, NothingKnown) {
  Case context;
  context.mixes("aten::add", "cuda:0", "cuda:1");
  context.operand("self", "a", OperandKind::kUnknown, "cuda:0");
  context.operand("other", "b", OperandKind::kUnknown, "cuda:1");
  const auto finding = expect_code(context, "DV000");
  EXPECT_EQ(finding.candidates, (std::vector<std::string>{"DV101", "DV102", "DV115"}));
  EXPECT_EQ(finding.confidence, model::Confidence::kPossible);
  EXPECT_EQ(finding.operands.size(), 2u);
}

TEST(Undecided, EasyEdit204OperandsUnknownInAMappedModel) {
  Case context;
  context.map({{"a", "cuda:0"}, {"b", "cuda:1"}});
  context.mixes("aten::mul", "cuda:0", "cuda:1")
      .frames({lib("transformers_modules", "modeling_qwen.py", 300, "apply_rotary")});
  context.operand("self", "t_", OperandKind::kLocal, "cuda:0");
  context.operand("other", "cos", OperandKind::kLocal, "cuda:1");
  const auto finding = expect_code(context, "DV000");
  EXPECT_FALSE(finding.candidates.empty());
}

TEST(Undecided, TwoCausesFitAlike) {
  // The labels are on the host: nobody moved the batch, or the loss made them.
  Case context;
  context.mixes("aten::add", "cuda:0", "cpu").frames({forward("return x + bias"), train(9)});
  context.operand("self", "x", OperandKind::kUnknown, "cuda:0");
  context.operand("other", "bias", OperandKind::kUnknown, "cpu");
  const auto finding = expect_code(context, "DV000");
  EXPECT_EQ(finding.candidates, (std::vector<std::string>{"DV103", "DV102", "DV108", "DV110"}));
}

TEST(Undecided, NoFindingWithoutAFailure) { EXPECT_TRUE(diagnose(model::Facts{}).empty()); }

TEST(RandomAndDefault, AWeightIsNotWhatCameToTheWrongGpu) {
  Case context;
  context.mixes("aten::addmm", "cuda:0", "cuda:1").frames({forward("return self.net(z)"), train(80)});
  context.facts.process.default_device = "cuda:1";
  const auto by_default = [](const char* device, Frame line) {
    Event event = made(device, {std::move(line)}, "torch.set_default_device");
    event.source = DeviceSource::kDefault;
    return event;
  };
  context.operand("self", "net.0.bias", OperandKind::kParameter, "cuda:0",
                  {by_default("cuda:0", own("net.py", 16, "Net.__init__", "self.net = nn.Linear(8, 8)"))});
  context
      .operand("mat1", "z", OperandKind::kInput, "cuda:1",
               {by_default("cuda:1", own("net.py", 43, "sample_noise", "return torch.randn(n, z_dim)"))})
      .offending = true;
  expect_operand(context, expect_code(context, "DV111"), "z");
}

}  // namespace devsan::diagnose::test
