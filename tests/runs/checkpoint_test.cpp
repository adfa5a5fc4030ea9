#include "gpu/runs/checkpoint.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "gpu/core/error.h"
#include "gpu/core/random.h"
#include "gpu/files/format.h"
#include "gpu/files/safetensors.h"
#include "gpu/models/parameters.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/checkpoints.h"
#include "tests/support/tiny.h"

namespace warpscope::training::checkpoint_test {
namespace {

namespace fs = std::filesystem;
using core::BadInput;
using nlohmann::json;
using ops::UpdateRule;
using tests::holds;
using tests::message_of;
using tests::sample_checkpoint;

class CheckpointFiles : public testing::Test {
 protected:
  std::string refusal(const models::Model& wanted) const {
    const std::string message = message_of<BadInput>([&] { load_checkpoint(path, wanted); });
    EXPECT_TRUE(holds(message, {path.string()}));
    EXPECT_EQ(message.find('\n'), std::string::npos);
    return message;
  }
  std::string refusal() const { return refusal(model); }
  /// As older files are, which do not hold their network.
  void tell_no_network() const {
    std::map<std::string, std::string> metadata;
    const std::vector<files::NamedTensor> tensors =
        files::read_safetensors(path, &metadata, files::Seal::required);
    metadata.erase(models::kNetworkEntry);
    files::write_sealed_safetensors(path, tensors, metadata);
  }
  std::string save_refusal(const Checkpoint& checkpoint) const {
    const std::string message = message_of<BadInput>([&] { save_checkpoint(path, checkpoint, model); });
    EXPECT_TRUE(holds(message, {path.string()}));
    EXPECT_FALSE(fs::exists(path));
    return message;
  }

  const tests::TemporaryFolder folder;
  const fs::path path = folder / "c.safetensors";
  const models::Model model = tests::tiny_model();
};

TEST_F(CheckpointFiles, OfAnotherNetworkAreKnownByTheirHeader) {
  save_checkpoint(path, sample_checkpoint(model, UpdateRule::adam), model);
  EXPECT_EQ(why_other_network(path, model), "");
  models::Model wider = model;
  wider.layers[0].out_channels += 2;
  models::fit_layers(wider);
  EXPECT_EQ(why_other_network(path, wider), "it is of an earlier network, tiny with other layers");
  wider.name = "wider";
  EXPECT_EQ(why_other_network(path, wider), "it is of an earlier network, tiny");
  EXPECT_EQ(why_other_network(folder / "none.safetensors", model), "") << "who loads it is told";
}

TEST_F(CheckpointFiles, AreDroppedOnceNobodyWaitsForThem) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(save_checkpoint(path, sample_checkpoint(model, UpdateRule::adam), model,
                               {.stop = stop.get_token(), .lasts = false}),
               files::Stopped);
  EXPECT_TRUE(fs::is_empty(folder.path()));
  save_checkpoint(path, sample_checkpoint(model, UpdateRule::adam), model, {.lasts = false});
  tests::expect_same(load_checkpoint(path, model), sample_checkpoint(model, UpdateRule::adam));
}

TEST_F(CheckpointFiles, ComeBackBitForBitWithEveryRule) {
  for (const char* name : {"tiny", "autoencoder"}) {
    const models::Model each = name == model.name ? model : models::find_model(name);
    for (const ops::RuleRow& row : ops::kUpdateRules) {
      const Checkpoint checkpoint = sample_checkpoint(each, row.rule);
      EXPECT_EQ(checkpoint.optimizer.size(), static_cast<std::size_t>(ops::states_of(row.rule)));
      save_checkpoint(path, checkpoint, each);
      tests::expect_same(load_checkpoint(path, each), checkpoint);
    }
  }
}

TEST_F(CheckpointFiles, HoldAHeadBesideTheLayers) {
  const models::Model joint = models::with_head(model, 3);
  Checkpoint checkpoint = sample_checkpoint(joint, UpdateRule::adam);
  checkpoint.head_classes = 3;
  save_checkpoint(path, checkpoint, model);
  const Checkpoint found = load_checkpoint(path, model);
  EXPECT_EQ(found.head_classes, 3);
  tests::expect_same(found, checkpoint);
  // For those who look only at the layers.
  const std::vector<float> weights = models::load_parameters(path.string(), model);
  const std::size_t bare = models::parameter_layout(model).elements;
  ASSERT_EQ(weights.size(), bare);
  EXPECT_EQ(weights, std::vector<float>(checkpoint.weights.begin(),
                                        checkpoint.weights.begin() + static_cast<std::ptrdiff_t>(bare)));
  EXPECT_EQ(models::head_classes_in(files::SafetensorsFile(path).entries()), 3);
  save_checkpoint(path, sample_checkpoint(model, UpdateRule::adam), model);
  EXPECT_EQ(load_checkpoint(path, joint).head_classes, 0);
}

TEST_F(CheckpointFiles, KeepEveryKindOfNumber) {
  Checkpoint checkpoint = sample_checkpoint(model, UpdateRule::adam);
  // Infinities, quiet and signalling NaN with payloads, denormal numbers, both zeros, and random bits.
  const std::vector<std::uint32_t> special{0x7F800000, 0xFF800000, 0x7FC12345, 0xFFC00001, 0x7F800001,
                                           0xFFBFFFFF, 0x00000001, 0x807FFFFF, 0x00000000, 0x80000000};
  const std::size_t size = models::parameter_layout(model).find("conv1.weight").elements;
  for (std::vector<float>* values :
       {&checkpoint.weights, &checkpoint.optimizer[0].values, &checkpoint.optimizer[1].values}) {
    for (std::size_t i = 0; i < size; ++i) {
      const auto bits = static_cast<std::uint32_t>(core::random_bits(3, i));
      (*values)[i] = std::bit_cast<float>(i < special.size() ? special[i] : bits);
    }
  }
  checkpoint.step = std::numeric_limits<std::uint64_t>::max();
  checkpoint.epochs = 1.0 / 3;
  checkpoint.control = {0x1.fffffep23f, 4294967295u, 4294967295u, 4294967295u};
  checkpoint.order = {std::numeric_limits<std::int64_t>::max(),
                      std::numeric_limits<std::uint64_t>::max(),
                      std::numeric_limits<std::uint64_t>::max(),
                      4294967295u,
                      4294967295u,
                      false};
  checkpoint.training = {{"x", 0.1}, {"y", -1e-300}, {"none", nullptr}, {"list", {1, "ü\n\"", true}}};
  save_checkpoint(path, checkpoint, model);
  tests::expect_same(load_checkpoint(path, model), checkpoint);
}

TEST_F(CheckpointFiles, HoldTorchsTensors) {
  save_checkpoint(path, sample_checkpoint(model, UpdateRule::adamw), model);
  std::map<std::string, std::string> metadata;
  const std::vector<files::NamedTensor> tensors = files::read_safetensors(path, &metadata);
  EXPECT_EQ(metadata.at("format"), "pt");
  EXPECT_EQ(metadata.at("model"), "tiny");
  EXPECT_EQ(json::parse(metadata.at("checkpoint"))["optimizer"],
            (json{{"rule", "adamw"}, {"states", {"exp_avg", "exp_avg_sq"}}}));
  ASSERT_EQ(tensors.size(), 18u);
  std::map<std::string, files::NamedTensor> named;
  for (const files::NamedTensor& tensor : tensors) named[tensor.name] = tensor;
  for (const std::string prefix : {"", "optimizer.exp_avg.", "optimizer.exp_avg_sq."}) {
    ASSERT_TRUE(named.contains(prefix + "conv2.weight")) << prefix;
    EXPECT_EQ(named[prefix + "conv2.weight"].shape, (std::vector<std::int64_t>{5, 4, 3, 3}));
  }
  // Filter 3, channel 2, row 1, column 0: ours is (K, R, S, C), torch's (K, C, R, S).
  EXPECT_EQ(named["conv2.weight"].values[129], 123.0f + 122.0f);
  EXPECT_EQ(named["optimizer.exp_avg_sq.conv2.weight"].values[129], 1.5f + 0.25f * 122.0f);
  EXPECT_EQ(models::load_parameters(path.string(), model), tests::counting_buffer(model, 123.0f))
      << "as --init does";
}

TEST_F(CheckpointFiles, LeaveOutThePadding) {
  Checkpoint checkpoint = sample_checkpoint(model, UpdateRule::momentum);
  const std::vector<float> clean = checkpoint.weights;
  const models::ParameterLayout layout = models::parameter_layout(model);
  const models::Parameter& bias = layout.find("conv1.bias");
  for (std::size_t i = bias.elements; i < 64; ++i) {
    checkpoint.weights[bias.offset + i] = std::nanf("");
    checkpoint.optimizer[0].values[bias.offset + i] = 9.0f;
  }
  save_checkpoint(path, checkpoint, model);
  const Checkpoint loaded = load_checkpoint(path, model);
  EXPECT_EQ(loaded.weights, clean);
  EXPECT_EQ(loaded.optimizer[0].values[bias.offset + bias.elements], 0.0f);
}

TEST_F(CheckpointFiles, WriteWhatJsonCannotHold) {
  Checkpoint checkpoint = sample_checkpoint(model, UpdateRule::sgd);
  checkpoint.training = {{"best", std::nan("")}, {"folder", "/data/\xff/x"}};
  save_checkpoint(path, checkpoint, model);
  EXPECT_EQ(load_checkpoint(path, model).training,
            (json{{"best", nullptr}, {"folder", "/data/\xef\xbf\xbd/x"}}));
}

// ThreadSanitizer looks at what threads do, and here is one, which it makes ten times as slow.
#ifdef WARPSCOPE_SANITIZES_THREAD
constexpr std::size_t kBytesApart = 29;
#else
constexpr std::size_t kBytesApart = 1;
#endif

TEST_F(CheckpointFiles, AreRefusedWithAnyByteChanged) {
  save_checkpoint(path, sample_checkpoint(model, UpdateRule::adam), model);
  const std::string whole = tests::read_text(path);
  tests::FilePatch file(path);
  for (std::size_t at = 0; at < whole.size(); at += kBytesApart) {
    file.put(at, static_cast<char>(whole[at] ^ (1 << (core::random_bits(1, at) % 8))));
    std::string message;
    try {
      load_checkpoint(path, model);
    } catch (const BadInput& error) {
      message = error.what();
    }
    ASSERT_TRUE(holds(message, {path.string(), "use an older checkpoint"})) << "byte " << at;
    ASSERT_EQ(message.find('\n'), std::string::npos);
    file.put(at, whole[at]);
  }
  EXPECT_NO_THROW(load_checkpoint(path, model));
}

TEST_F(CheckpointFiles, AreRefusedCutAnywhereOrLonger) {
  save_checkpoint(path, sample_checkpoint(model, UpdateRule::momentum), model);
  const std::string whole = tests::read_text(path);
  for (const char* more : {"x", "\0"}) {
    tests::write_text(path, whole + std::string(more, 1));
    EXPECT_TRUE(holds(refusal(), {"use an older checkpoint"}));
  }
  for (std::size_t cut = 1; cut <= whole.size(); cut += kBytesApart) {
    const std::size_t size = whole.size() - cut;
    ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(size)), 0);
    ASSERT_THROW(load_checkpoint(path, model), BadInput) << size;
  }
}

TEST_F(CheckpointFiles, SayWhatToDoWhereThereIsNoCheckpoint) {
  EXPECT_TRUE(holds(refusal(), {"No such file", "use an older checkpoint"}));
  models::save_parameters(path.string(), model, sample_checkpoint(model, UpdateRule::sgd).weights);
  EXPECT_TRUE(holds(refusal(), {"no SHA-256", "checkpoint"}));
  files::write_sealed_safetensors(path, {}, {{"model", "tiny"}});
  EXPECT_TRUE(holds(refusal(), {"is no checkpoint"}));
}

TEST_F(CheckpointFiles, OfAnotherModelAreRefused) {
  save_checkpoint(path, sample_checkpoint(model, UpdateRule::sgd), model);
  const std::string message = refusal(models::find_model("autoencoder"));
  EXPECT_TRUE(holds(message, {"of model tiny", "not of autoencoder", "choose that model"}));
  models::Model wider = model;
  wider.layers[0].out_channels = 6;
  wider.layers[3].in_channels = 6;
  EXPECT_TRUE(holds(refusal(wider), {"of model tiny as it was with other layers", "--init-partly"}));
  models::Model longer = model;
  longer.layers.push_back({models::LayerKind::conv2d, "conv4", 3, 3, 3});
  EXPECT_TRUE(holds(refusal(longer), {"of model tiny as it was with other layers"}));
  tell_no_network();
  EXPECT_TRUE(holds(refusal(wider), {"conv1.weight", "(4, 3, 3, 3)", "(6, 3, 3, 3)"}));
  EXPECT_TRUE(holds(refusal(longer), {"lacks 'conv4.weight'"}));
  save_checkpoint(path, sample_checkpoint(longer, UpdateRule::sgd), longer);
  tell_no_network();
  EXPECT_TRUE(holds(refusal(), {"8 tensors instead of 6"}));
}

/// Checkpoints with a good seal and wrong contents.
class ForgedCheckpoints : public CheckpointFiles {
 protected:
  void SetUp() override {
    save_checkpoint(path, sample_checkpoint(model, UpdateRule::adam), model);
    tensors = files::read_safetensors(path, &metadata);
    good = json::parse(metadata.at("checkpoint"));
  }
  std::string refused(const std::string& text) {
    metadata["checkpoint"] = text;
    files::write_sealed_safetensors(path, tensors, metadata);
    return refusal();
  }
  std::string refused_with(const std::string& pointer, const json& value) {
    json forged = good;
    forged[json::json_pointer(pointer)] = value;
    return refused(forged.dump());
  }

  std::vector<files::NamedTensor> tensors;
  std::map<std::string, std::string> metadata;
  json good;
};

TEST_F(ForgedCheckpoints, OfAnotherFormatAreRefused) {
  const std::string only = fmt::format("reads only {}", files::kCheckpointFormat.number);
  EXPECT_TRUE(holds(refused_with("/format", 1), {"format 1", only, "use the Warpscope that wrote it"}));
  good.erase("format");  // as the first ones, which had a "version"
  const std::string refusal = refused_with("/version", 1);
  EXPECT_TRUE(holds(refusal, {"no format number", only, "use the Warpscope that wrote it"}));
  EXPECT_EQ(refusal.find("older checkpoint"), std::string::npos) << refusal;
}

TEST_F(ForgedCheckpoints, AreRefusedByMember) {
  EXPECT_TRUE(holds(refused("{"), {"not JSON"}));
  EXPECT_TRUE(holds(refused("[]"), {"not a JSON object"}));
  for (const auto& [name, value] : good.items()) {
    if (name == files::kFormat) continue;
    json forged = good;
    forged.erase(name);
    EXPECT_TRUE(holds(refused(forged.dump()), {"checkpoint." + name, "missing"}));
    EXPECT_TRUE(holds(refused_with(fmt::format("/{}", name), "x"), {"checkpoint." + name, "is"}));
  }
  for (const char* group : {"optimizer", "control", "order"}) {
    for (const auto& [name, value] : good[group].items()) {
      const std::string pointer = fmt::format("/{}/{}", group, name);
      const std::string member = fmt::format("checkpoint.{}.{}", group, name);
      json forged = good;
      forged[group].erase(name);
      EXPECT_TRUE(holds(refused(forged.dump()), {member, "missing"}));
      EXPECT_TRUE(holds(refused_with(pointer, json::array()), {member}));
    }
  }
}

TEST_F(ForgedCheckpoints, WithNumbersOutOfRangeAreRefused) {
  EXPECT_TRUE(holds(refused_with("/step", -1), {"checkpoint.step"}));
  EXPECT_TRUE(holds(refused_with("/step", 1.5), {"checkpoint.step"}));
  EXPECT_TRUE(holds(refused_with("/control/updates", 4294967296), {"checkpoint.control.updates"}));
  EXPECT_TRUE(holds(refused_with("/order/position", 4294967296), {"checkpoint.order.position"}));
  EXPECT_TRUE(holds(refused_with("/order/images", 9223372036854775808u), {"checkpoint.order.images"}));
}

TEST_F(ForgedCheckpoints, WithStatesThatAreNotTheRulesAreRefused) {
  EXPECT_TRUE(holds(refused_with("/optimizer/rule", "magic"), {"optimizer.rule", "magic", "sgd"}));
  EXPECT_TRUE(holds(refused_with("/optimizer/rule", "momentum"), {"optimizer.states"}));
  json forged = good;
  forged["optimizer"] = {{"rule", "rmsprop"}, {"states", {"square_avg"}}};
  EXPECT_TRUE(holds(refused(forged.dump()), {"lacks 'optimizer.square_avg.conv1.weight'"}));
  forged["optimizer"] = {{"rule", "lion"}, {"states", {"exp_avg"}}};
  EXPECT_TRUE(holds(refused(forged.dump()), {"18 tensors instead of 12"}));
}

TEST_F(CheckpointFiles, ThatCouldNotBeReadBackAreNotWritten) {
  const Checkpoint good = sample_checkpoint(model, UpdateRule::adam);
  const auto changed = [&](auto change) {
    Checkpoint checkpoint = good;
    change(checkpoint);
    return save_refusal(checkpoint);
  };
  EXPECT_TRUE(holds(changed([](auto& c) { c.model = "mlp"; }), {"mlp", "tiny"}));
  EXPECT_TRUE(holds(changed([](auto& c) { c.weights.pop_back(); }), {"weights", "elements"}));
  EXPECT_TRUE(holds(changed([](auto& c) { c.optimizer[1].values.clear(); }), {"exp_avg_sq", "0 elements"}));
  EXPECT_TRUE(
      holds(changed([](auto& c) { c.optimizer.pop_back(); }), {"(exp_avg)", "(exp_avg, exp_avg_sq)"}));
  EXPECT_TRUE(holds(changed([](auto& c) { std::swap(c.optimizer[0], c.optimizer[1]); }), {"states"}));
  EXPECT_TRUE(holds(changed([](auto& c) { c.rule = UpdateRule::sgd; }), {"sgd"}));
  EXPECT_TRUE(holds(changed([](auto& c) { c.control.loss_scale = INFINITY; }), {"loss scale"}));
  EXPECT_TRUE(holds(changed([](auto& c) { c.epochs = NAN; }), {"epochs"}));
  EXPECT_TRUE(holds(changed([](auto& c) { c.order.images = -1; }), {"images"}));
  EXPECT_TRUE(holds(changed([](auto& c) { c.training = json::array(); }), {"training"}));
}

TEST_F(CheckpointFiles, StayAsTheyWereWhenTheDiskIsFull) {
  const Checkpoint first = sample_checkpoint(model, UpdateRule::adam, 1);
  save_checkpoint(path, first, model);
  {
    const tests::FileSizeLimit limit(3000);
    EXPECT_TRUE(holds(message_of<core::Error>([&] {
                        save_checkpoint(path, sample_checkpoint(model, UpdateRule::adam, 2), model);
                      }),
                      {path.string(), "File too large"}));
  }
  tests::expect_same(load_checkpoint(path, model), first);
  EXPECT_EQ(tests::count_entries(folder.path()), 1);
}

// For tests/peers/torch_checkpoint.py.
TEST(CheckpointForPeers, IsWrittenWhereTheEnvironmentSays) {
  const char* target = std::getenv("WARPSCOPE_TEST_CHECKPOINT");
  if (target == nullptr) GTEST_SKIP() << "WARPSCOPE_TEST_CHECKPOINT names no file";
  const models::Model model = models::find_model("autoencoder");
  save_checkpoint(target, sample_checkpoint(model, UpdateRule::adam), model);
}

}  // namespace
}  // namespace warpscope::training::checkpoint_test
