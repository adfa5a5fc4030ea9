#include "gpu/settings/configuration.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "gpu/core/device.h"
#include "gpu/core/error.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::training::configuration_test {
namespace {

using nlohmann::json;

/// The sentence with which `text` is refused; "" if it is not.
std::string refusal(const std::string& text) {
  try {
    parse_toml(text, "file.toml");
  } catch (const core::BadInput& error) {
    return error.what();
  }
  return "";
}

void expect_words(const std::string& sentence, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    EXPECT_NE(sentence.find(word), std::string::npos) << sentence << "\n" << word;
  EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
}

core::DeviceInfo cpu(int cores = 2) {
  core::DeviceInfo device;
  device.multiprocessors = cores;
  return device;
}

core::DeviceInfo gpu(int compute_capability) {
  core::DeviceInfo device;
  device.kind = core::DeviceKind::cuda;
  device.compute_capability = compute_capability;
  return device;
}

Configuration configuration_with(const std::vector<std::pair<std::string, Value>>& values) {
  Configuration c;
  for (const auto& [name, value] : values) c.set(name, value);
  return c;
}

/// Random values that a setting may have, those that are hard to write in a file among them.
struct Dice {
  std::mt19937_64 random;

  bool coin() { return random() % 2 == 0; }

  std::int64_t whole(const Range& range) {
    const auto most = static_cast<std::uint64_t>(std::min(range.most, 9e18));
    const auto any = random() >> (random() % 64);
    return static_cast<std::int64_t>(
        std::max<std::uint64_t>(any % most, static_cast<std::uint64_t>(range.least)));
  }

  double real(const Range& range) {
    if (random() % 8 == 0) return range.least;
    const double share = std::generate_canonical<double, 53>(random) * 0.999999;
    const double spread = coin() ? 1.0 : std::pow(10.0, -static_cast<double>(random() % 30));
    return range.least + share * spread * (range.most - range.least);
  }

  std::string text(const Setting& row) {
    static const std::vector<std::string> pieces = {
        "a",    "\"", "'",    "\\",   "\n",           "\t",       " ",
        "#",    "=",  "[x]",  "\x7F", "\x01",         "\xC3\xA4", "\xF0\x9F\x8C\x8D",
        "\r\n", "''", "\"\"", "\\u0", "\xE2\x80\xA8", "naive,",   "{}"};
    if (row.names != nullptr) {
      const std::vector<std::string> names = row.names();
      return names[random() % names.size()];
    }
    if (row.check != nullptr) return row.example;
    std::string made;
    for (std::size_t left = random() % 6; left > 0; --left) made += pieces[random() % pieces.size()];
    return made;
  }

  Value value(const Setting& row) {
    switch (row.field.kind) {
      case Kind::boolean:
        return coin();
      case Kind::integer:
        return whole(row.range);
      case Kind::real:
        return real(row.range);
      case Kind::text:
        return text(row);
    }
    throw std::logic_error("unknown kind");
  }

  Configuration configuration() {
    Configuration c;
    for (const Setting& row : settings()) {
      if (random() % 3 > 0) c.set(row.name, value(row));
    }
    return c;
  }
};

TEST(ConfigurationToml, WhatIsWrittenReadsBackTheSame) {
  Dice dice;
  for (int i = 0; i < 300; ++i) {
    const Configuration written = dice.configuration();
    const std::string text = to_toml(written, cpu());
    const Configuration read = parse_toml(text, "file.toml");
    ASSERT_EQ(read, written) << text;
    ASSERT_EQ(to_toml(read, cpu()), text);
  }
}

TEST(ConfigurationToml, FilesReadBackTheSame) {
  const tests::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "training.toml";
  const Configuration written = Dice{}.configuration();
  write_toml(written, cpu(), file);
  EXPECT_EQ(read_configuration(file).configuration, written);
  EXPECT_FALSE(read_configuration(file).of_run);
}

TEST(ConfigurationToml, EverySettingIsRead) {
  const Configuration c = parse_toml(R"(
[model]
name = "autoencoder"
init = "weights.safetensors"
[data]
source = "builtin"
validation = 0.1
shuffle = false
seed = 9223372036854775807
test_images = 500
[device]
name = "cuda:1"
precision = "fp16"
select = "all=naive"
[optimizer]
name = "adamw"
learning_rate = 3e-4
momentum = 0.8
beta1 = 0.85
beta2 = 0.95
alpha = 0.97
epsilon = 1e-6
weight_decay = 0.05
clip_norm = 2          # a whole number will do
clip_value = 0.5
batch = 128
accumulate = 4
update = "per_sample"
[schedule]
text = "cosine:warmup=1"
[stop]
epochs = 10
steps = 1_000
early_stop = 5
target_loss = 0.01
time = "15m"
zscore = 6.0
on_divergence = "fail"
[checkpoints]
every_epochs = 2
keep = 4
[run]
folder = "runs/a"
save = "last.safetensors"
)",
                                     "file.toml");
  const Configuration expected = configuration_with({{"model", "autoencoder"},
                                                     {"init", "weights.safetensors"},
                                                     {"data_source", "builtin"},
                                                     {"validation", 0.1},
                                                     {"shuffle", false},
                                                     {"seed", std::int64_t{9223372036854775807}},
                                                     {"test_images", std::int64_t{500}},
                                                     {"device", "cuda:1"},
                                                     {"precision", "fp16"},
                                                     {"select", "all=naive"},
                                                     {"optimizer", "adamw"},
                                                     {"learning_rate", 3e-4},
                                                     {"momentum", 0.8},
                                                     {"beta1", 0.85},
                                                     {"beta2", 0.95},
                                                     {"alpha", 0.97},
                                                     {"epsilon", 1e-6},
                                                     {"weight_decay", 0.05},
                                                     {"clip_norm", 2.0},
                                                     {"clip_value", 0.5},
                                                     {"batch", std::int64_t{128}},
                                                     {"accumulate", std::int64_t{4}},
                                                     {"update", "per_sample"},
                                                     {"schedule", "cosine:warmup=1"},
                                                     {"epochs", std::int64_t{10}},
                                                     {"steps", std::int64_t{1000}},
                                                     {"early_stop", std::int64_t{5}},
                                                     {"target_loss", 0.01},
                                                     {"time", "15m"},
                                                     {"zscore", 6.0},
                                                     {"on_divergence", "fail"},
                                                     {"checkpoint_every", std::int64_t{2}},
                                                     {"keep", std::int64_t{4}},
                                                     {"run_dir", "runs/a"},
                                                     {"save", "last.safetensors"}});
  EXPECT_EQ(c, expected);
}

TEST(ConfigurationToml, AnEmptyFileGivesNothing) {
  EXPECT_EQ(parse_toml("", "file.toml"), Configuration{});
  EXPECT_EQ(parse_toml("# nothing\n[optimizer]\n", "file.toml"), Configuration{});
}

TEST(ConfigurationToml, UnsetSettingsAreCommentsThatTellWhatApplies) {
  Configuration c;
  c.set("optimizer", "lion");
  c.set("precision", "fp16");
  const std::string text = to_toml(c, cpu());
  EXPECT_NE(text.find("\nname = \"lion\" "), std::string::npos) << text;
  EXPECT_NE(text.find("\n# learning_rate = 0.0001 "), std::string::npos) << text;
  EXPECT_NE(text.find("\n# beta2 = 0.99 "), std::string::npos) << text;
  EXPECT_NE(text.find("\n# clip_norm = 1.0 "), std::string::npos) << text;
  EXPECT_EQ(parse_toml(text, "file.toml"), c);
}

TEST(ConfigurationToml, WithoutTheirCommentSignsUnsetSettingsAreWhatApplies) {
  std::string text = to_toml({}, cpu());
  std::size_t settings = text.find("\n[");  // behind the heading
  while ((settings = text.find("\n# ", settings)) != std::string::npos) text.erase(settings + 1, 2);
  const core::DeviceInfo device = cpu();
  EXPECT_EQ(parse_toml(text, "file.toml"), resolve({}, &device));
}

TEST(ConfigurationToml, UnknownKeysAreRefusedWithTheNearestValidOne) {
  expect_words(refusal("[optimizer]\n  lerning_rate = 1\n"),
               {"file.toml:2:3: ", "'lerning_rate' in [optimizer]", "nearest valid one is learning_rate"});
  expect_words(refusal("[optimizer]\nepochs = 1\n"), {"file.toml:2:1: ", "epochs in [stop]"});
  expect_words(refusal("[optimizer]\nlr = 1\n"),
               {"file.toml:2:1: ", "'lr' in [optimizer]", "valid: name, learning_rate, "});
  expect_words(refusal("batch = 1\n"), {"file.toml:1:1: ", "'batch'", "batch in [optimizer]"});
  expect_words(refusal("\n[optimiser]\nbatch = 1\n"), {"file.toml:2:", "[optimiser]", "[optimizer]"});
  expect_words(refusal("optimizer = \"sgd\"\n"), {"file.toml:1:1: ", "[optimizer]", "table"});
  expect_words(refusal("[stop]\nepochs.most = 1\n"),
               {"file.toml:2:", "epochs takes a single value, not a table"});
}

TEST(ConfigurationToml, TheFirstMistakeInTheFileIsTold) {
  expect_words(refusal("[stop]\nstops = 1\n[data]\nseeds = 1\n"), {"file.toml:2:1: ", "steps"});
  expect_words(refusal("[stop]\nsteps = -1\nstops = 1\n"),
               {"file.toml:2:9: ", "steps must be 0 or more, not -1"});
}

TEST(ConfigurationToml, ValuesOfAnotherTypeAreRefused) {
  expect_words(refusal("[optimizer]\nbatch = 4.5"), {"file.toml:2:9: batch takes a whole number, not 4.5"});
  expect_words(refusal("[optimizer]\nbatch = 64.0"), {"batch takes a whole number, not 64.0"});
  expect_words(refusal("[optimizer]\nbatch = \"64\""), {"batch takes a whole number, not '64'"});
  expect_words(refusal("[optimizer]\nmomentum = true"), {"momentum takes a number, not true"});
  expect_words(refusal("[optimizer]\nname = 3"), {"name takes text, not 3"});
  expect_words(refusal("[data]\nshuffle = 1"), {"shuffle takes true or false, not 1"});
  expect_words(refusal("[data]\nseed = [1, 2]"), {"seed takes a single value, not an array"});
  expect_words(refusal("[stop]\ntime = 07:32:00"), {"time takes a single value, not a date or time"});
}

TEST(ConfigurationToml, ValuesOutOfRangeAreRefused) {
  expect_words(refusal("[optimizer]\nbatch = 0"), {"file.toml:2:9: batch must be 1 or more, not 0"});
  expect_words(refusal("[optimizer]\nbatch = 3000000000"), {"batch must be at most 65536, not 3000000000"});
  expect_words(refusal("[optimizer]\nbeta1 = 1.0"), {"beta1 must be less than 1, not 1.0"});
  expect_words(refusal("[optimizer]\nmomentum = -0.1"), {"momentum must be 0 or more, not -0.1"});
  expect_words(refusal("[data]\nvalidation = 0.95"), {"validation must be at most 0.9, not 0.95"});
  expect_words(refusal("[data]\nseed = -1"), {"seed must be 0 or more, not -1"});
  for (const char* rate : {"nan", "inf", "-inf", "1e300"}) {
    expect_words(refusal(fmt::format("[optimizer]\nlearning_rate = {}", rate)),
                 {"file.toml:2:17: learning_rate must be"});
  }
}

TEST(ConfigurationToml, UnknownNamesAreRefusedWithTheValidOnes) {
  expect_words(refusal("[optimizer]\nname = \"magic\""),
               {"file.toml:2:8: name: ", "'magic'", "valid: sgd, momentum"});
  expect_words(refusal("[model]\nname = \"magic\""), {"'magic'", "valid: ", "autoencoder"});
  expect_words(refusal("[device]\nprecision = \"fp8\""), {"'fp8'", "valid: fp32"});
  expect_words(refusal("[optimizer]\nupdate = \"never\""), {"'never'", "valid: batch, per_sample"});
  expect_words(refusal("[stop]\non_divergence = \"weep\""), {"'weep'", "valid: pause, fail"});
  expect_words(refusal("[stop]\ntime = \"soon\""), {"'soon'", "15m"});
}

TEST(ConfigurationToml, BadSyntaxIsRefusedInOneSentenceWithItsPlace) {
  expect_words(refusal("[optimizer]\nbatch 64\n"), {"file.toml:2:7: "});
  expect_words(refusal("[optimizer]\nname = \"sgd\nbatch = 3\n"), {"file.toml:2:"});
  expect_words(refusal("[optimizer]\nbatch = 1\nbatch = 2\n"), {"file.toml:3:", "batch"});
  expect_words(refusal("[stop\n"), {"file.toml:1:"});
  expect_words(refusal("[run]\nfolder = \"\xFF\"\n"), {"file.toml:2:"});
  expect_words(refusal("[run]\nfolder = \"a\\u0000b\"\n"),
               {"file.toml:2:10: folder must not hold a null character"});
  expect_words(refusal("[run]\n\"fol\\u0000der\" = \"a\"\n"), {"unknown key 'fol\\x00der' in [run]; "});
}

TEST(ConfigurationToml, CutOffOrSpoiltFilesAreReadOrRefusedInOneSentence) {
  Dice dice;
  const std::string whole = to_toml(dice.configuration(), cpu());
  int refused = 0;
  const auto read_or_refused = [&](const std::string& text) {
    const std::string sentence = refusal(text);
    if (sentence.empty()) return;
    ++refused;
    expect_words(sentence, {"file.toml:"});
  };
  for (std::size_t size = 0; size < whole.size(); size += 7) read_or_refused(whole.substr(0, size));
  EXPECT_GT(refused, 0);
  refused = 0;
  for (std::size_t at = 0; at < whole.size(); at += 5) {
    std::string spoilt = whole;
    spoilt[at] = static_cast<char>(dice.random());
    read_or_refused(spoilt);
  }
  EXPECT_GT(refused, 0);
}

TEST(ConfigurationToml, BytesThatAreNotUtf8AreKept) {
  const Configuration c =
      configuration_with({{"data_source", "images:/lat\xe9n/100 %"}, {"run_dir", "runs/\xFF"}});
  const std::string text = to_toml(c, cpu());
  EXPECT_NE(text.find("source_bytes = \"images:/lat%E9n/100%20%25\""), std::string::npos) << text;
  EXPECT_EQ(parse_toml(text, "file.toml"), c);
  EXPECT_EQ(refusal("[data]\nsource_bytes = \"a%4\"\n"),
            "file.toml:2:16: source has a % without two hexadecimal digits");
  expect_words(refusal("[data]\nseed_bytes = \"a\"\n"), {"unknown key 'seed_bytes'"});
}

TEST(ConfigurationJson, BytesThatAreNotUtf8AreKept) {
  const Configuration c = configuration_with({{"data_source", "/lat\xe9n/d"}, {"batch", std::int64_t{8}}});
  const json object = to_json(c);
  EXPECT_EQ(object["data_source"], "/lat\xEF\xBF\xBDn/d");
  EXPECT_EQ(object["data_source_bytes"], "/lat%E9n/d");
  EXPECT_EQ(from_json(json::parse(object.dump()), "run.json"), c);
  EXPECT_FALSE(to_json(configuration_with({{"data_source", "/lat\u00e9n"}})).contains("data_source_bytes"));
  EXPECT_THROW(from_json({{"data_source_bytes", "%zz"}}, "run.json"), core::BadInput);
}

TEST(ConfigurationToml, FilesThatCannotBeReadAreNamed) {
  const tests::TemporaryFolder folder;
  const std::string missing = (folder.path() / "missing.toml").string();
  try {
    read_configuration(missing);
    FAIL() << "read";
  } catch (const core::BadInput& error) {
    expect_words(error.what(), {missing, "No such file"});
  }
  try {
    read_configuration(folder.path());
    FAIL() << "read";
  } catch (const core::BadInput& error) {
    expect_words(error.what(), {folder.path().string(), "is a folder"});
  }
}

TEST(ConfigurationJson, WhatIsWrittenReadsBackTheSame) {
  Dice dice;
  for (int i = 0; i < 300; ++i) {
    const Configuration written = dice.configuration();
    ASSERT_EQ(from_json(json::parse(to_json(written).dump()), "run.json"), written);
  }
}

TEST(ConfigurationJson, NumbersHaveTheirShortestDigits) {
  const Configuration c = configuration_with({{"learning_rate", static_cast<double>(0.1f)}});
  EXPECT_EQ(to_json(c).dump(), R"({"learning_rate":0.1})");
}

/// What a run's folder tells.
const char* const kRun =
    R"({"format": 1, "configuration": {"batch": 4, "data": "built-in scenes", "data_source": "builtin",
  "device": "cpu", "epochs": 0, "init": "", "learning_rate": 0.009999999776482582, "model": "autoencoder",
  "optimizer": "sgd", "precision": "fp32", "seed": 5, "chosen": {"conv2d.forward": "onednn", "mse.forward": "loops"},
  "shuffle": true, "steps": 3, "test_images": 8, "train_images": 50000},
  "device": {"kind": "cpu"}, "status": "finished", "versions": {"warpscope": "0.1.0"}})";

TEST(ConfigurationJson, ARunTellsItsSettings) {
  const tests::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "run.json";
  std::ofstream(file) << kRun;
  const Configuration expected = configuration_with({{"model", "autoencoder"},
                                                     {"init", ""},
                                                     {"data_source", "builtin"},
                                                     {"shuffle", true},
                                                     {"seed", std::int64_t{5}},
                                                     {"test_images", std::int64_t{8}},
                                                     {"device", "cpu"},
                                                     {"precision", "fp32"},
                                                     {"select", "conv2d.forward=onednn,mse.forward=loops"},
                                                     {"optimizer", "sgd"},
                                                     {"learning_rate", 0.01},
                                                     {"batch", std::int64_t{4}},
                                                     {"epochs", std::int64_t{0}},
                                                     {"steps", std::int64_t{3}}});
  EXPECT_EQ(read_run(file), expected);
  EXPECT_TRUE(read_configuration(file).of_run);
}

TEST(ConfigurationJson, AConfigurationFromARunLeavesItsFilesAlone) {
  const tests::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "run.json";
  std::ofstream(file)
      << R"({"format": 1, "configuration": {"run_dir": "runs/1", "save": "last.safetensors", "batch": 8}})";
  EXPECT_EQ(read_run(file).text("save"), "last.safetensors");
  const Configuration c = read_configuration(file).configuration;
  EXPECT_EQ(c, configuration_with({{"batch", std::int64_t{8}}}));
}

TEST(ConfigurationJson, WhatIsNoFileIsNotWaitedFor) {
  const tests::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "run.json";
  ASSERT_EQ(::mkfifo(file.c_str(), 0666), 0);
  EXPECT_EQ(tests::message_of<core::BadInput>([&] { read_run(file); }), file.string() + " is not a file");
}

TEST(ConfigurationJson, BrokenRunsAreRefusedInOneSentence) {
  const tests::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "run.json";
  const auto refused = [&](const std::string& text, const std::vector<std::string>& words) {
    std::ofstream(file) << text;
    try {
      read_run(file);
      ADD_FAILURE() << "read: " << text;
    } catch (const core::BadInput& error) {
      expect_words(error.what(), {file.string()});
      expect_words(error.what(), words);
    }
  };
  refused("{\"configuration\":\n  {\"batch\": 4,,}}", {"run.json:2:15: "});
  refused("{\"configuration\":", {"run.json:1:"});
  refused("", {"run.json:1:1: "});
  refused(R"({"format": 1, "seconds": 1e400})", {"a number that is too large"});
  refused(R"({"format": 1, "x": )" + std::string(400'000, '[') + std::string(400'000, ']') + "}",
          {"nested more deeply"});
  refused("[]", {"holds no object \"configuration\""});
  refused(R"({"format": 1, "configuration": 3})", {"holds no object \"configuration\""});
  refused(R"({"format": 2, "settings": {}})", {"has format 2 of runs", "reads only 1"});
  refused(R"({"format": 1, "configuration": {"batch": "many"}})",
          {"\"batch\" takes a whole number, not 'many'"});
  refused(R"({"format": 1, "configuration": {"batch": [1]}})",
          {"\"batch\" takes a single value, not an array"});
  refused(R"({"format": 1, "configuration": {"batch": 0}})", {"\"batch\" must be 1 or more, not 0"});
  refused(R"({"format": 1, "configuration": {"seed": 18446744073709551615}})",
          {"\"seed\" must be at most 9223372036854775807"});
  refused(R"({"format": 1, "configuration": {"model": "magic"}})", {"\"model\": unknown model 'magic'"});
  refused(R"({"format": 1, "configuration": {"chosen": {"conv2d.forward": 3}}})",
          {"chosen", "conv2d.forward"});
  refused(R"({"format": 2, "configuration": {"batch": 4}})", {"has format 2 of runs", "reads only 1"});
  refused(R"({"configuration": {"batch": 4}})", {"has no format number of runs", "reads only 1"});
}

TEST(Configuration, WhatIsGivenOverWins) {
  Dice dice;
  for (int i = 0; i < 50; ++i) {
    const Configuration base = dice.configuration(), over = dice.configuration();
    const Configuration merged = merge(base, over);
    for (const Setting& row : settings()) {
      const Value* const of_base = base.find(row.name);
      const Value* const of_over = over.find(row.name);
      const Value* const expected = of_over != nullptr ? of_over : of_base;
      ASSERT_EQ(merged.has(row.name), expected != nullptr) << row.name;
      if (expected != nullptr) {
        EXPECT_EQ(*merged.find(row.name), *expected) << row.name;
      }
    }
  }
}

TEST(Configuration, DefaultsFollowOptimizerAndPrecision) {
  Configuration c;
  EXPECT_FALSE(defaults().has("learning_rate"));
  EXPECT_EQ(resolve(c).text("optimizer"), "adam");
  EXPECT_EQ(resolve(c).number("learning_rate"), 0.0003);
  EXPECT_EQ(resolve(c).number("clip_norm"), 0);
  c.set("optimizer", "sgd");
  EXPECT_EQ(resolve(c).number("learning_rate"), 0.005);
  c.set("optimizer", "adamw");
  c.set("precision", "fp16");
  EXPECT_EQ(resolve(c).number("learning_rate"), 0.001);
  EXPECT_EQ(resolve(c).number("weight_decay"), 0.01);
  EXPECT_EQ(resolve(c).number("beta2"), 0.999);
  EXPECT_EQ(resolve(c).number("clip_norm"), 1);
  c.set("learning_rate", 0.5);
  EXPECT_EQ(resolve(c).number("learning_rate"), 0.5);
}

TEST(Configuration, PrecisionAndBatchFollowTheDeviceAndTheNetwork) {
  struct Case {
    core::DeviceInfo device;
    const char* precision;
    double batch;
  };
  for (const Case& one : {Case{cpu(1), "fp32", 8}, Case{cpu(2), "fp32", 8}, Case{cpu(4), "fp32", 16},
                          Case{cpu(8), "fp32", 32}, Case{cpu(64), "fp32", 64}, Case{gpu(75), "fp32", 64},
                          Case{gpu(80), "bf16", 64}, Case{gpu(90), "bf16", 64}}) {
    const Configuration c = resolve({}, &one.device);
    EXPECT_EQ(c.text("precision"), one.precision) << one.device.compute_capability;
    EXPECT_EQ(c.number("batch"), one.batch) << one.device.multiprocessors;
  }
  const core::DeviceInfo small = cpu(2);
  EXPECT_EQ(resolve(configuration_with({{"model", "mlp"}}), &small).number("batch"), 64);
  EXPECT_EQ(resolve(configuration_with({{"model", "char_cnn"}}), &small).number("batch"), 8);
  EXPECT_FALSE(resolve({}).has("precision")) << "no device, no precision";
  EXPECT_FALSE(resolve({}).has("batch"));
  const core::DeviceInfo device = gpu(90);
  EXPECT_EQ(resolve(configuration_with({{"precision", "fp32"}}), &device).text("precision"), "fp32");
}

std::string told(const TrainingSettings& before, const TrainingSettings& after) {
  const Configuration different = difference(before, after);
  return describe_change(values_of(before, different), different);
}

TEST(Change, IsToldByTheRows) {
  TrainingSettings before, after;
  EXPECT_EQ(told(before, after), "");
  after.optimizer = defaults_of(ops::UpdateRule::lion);
  EXPECT_EQ(told(before, after),
            "optimizer: adam -> lion; learning rate: 0.0003 -> 0.0001; beta 2: 0.999 -> 0.99");
  before.optimizer.momentum = 0.5f;
  EXPECT_EQ(told(before, after).find("momentum"), std::string::npos) << "lion has none";
  after = before;
  after.augment.flip = true;
  after.optimizer.momentum = 0.8f;
  after.optimizer.accumulate = 4;
  after.spikes.threshold = 6.5;
  EXPECT_EQ(told(before, after),
            "flip: off -> on; momentum: 0.5 -> 0.8; micro-batches: 1 -> 4; loss spike: off -> 6.5");
}

TEST(Change, LeavesOtherSettingsAndIsRefusedWhole) {
  TrainingSettings now;
  now.optimizer.momentum = 0.5f;
  Configuration change;
  change.set("learning_rate", 0.25);
  const TrainingSettings next = changed(now, change);
  EXPECT_EQ(next.optimizer.learning_rate, 0.25f);
  EXPECT_EQ(difference(now, next), change);
  const auto refusal = [&](const char* name, Value value) {
    Configuration bad = change;
    bad.put(setting(name), std::move(value));
    return tests::message_of<core::BadInput>([&] { changed(now, bad); });
  };
  EXPECT_EQ(refusal("seed", std::int64_t{3}),
            "seed cannot change so while a training runs: it is set when a training starts");
  EXPECT_EQ(refusal("crop", std::int64_t{17}), "crop must be at most 16, not 17");
  EXPECT_TRUE(tests::holds(refusal("test_every", std::int64_t{1}), {"test_every 1"}));
}

}  // namespace
}  // namespace warpscope::training::configuration_test
