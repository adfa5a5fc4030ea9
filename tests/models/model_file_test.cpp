#include "gpu/models/model_file.h"

#include <algorithm>
#include <fstream>
#include <random>
#include <string>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/random_model.h"

namespace warpscope::models::model_file_test {
namespace {

constexpr const char* kSmall = R"(input = [8, 8, 3]
loss = "cross_entropy"
classes = 4
layers = [
  {type = "conv2d", channels = 5, kernel = 3},
  {type = "relu"},
  {type = "conv2d", channels = 5, bias = false},
  {type = "add", from = "relu1"},
  {type = "maxpool2d"},
  {type = "linear", name = "out", features = 4},
]
)";

std::string refusal(const std::string& text) {
  try {
    parse_model(text, "mine.toml", "mine");
  } catch (const core::BadInput& error) {
    return error.what();
  }
  return "";
}

/// kSmall with one text instead of another.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = kSmall;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(ModelFile, HoldsANetwork) {
  const Model model = parse_model(kSmall, "mine.toml", "mine");
  EXPECT_EQ(model.name, "mine");
  EXPECT_EQ((Extent{model.height, model.width, model.channels}), (Extent{8, 8, 3}));
  EXPECT_EQ(model.loss, Loss::cross_entropy);
  EXPECT_EQ(model.classes, 4);
  ASSERT_EQ(model.layers.size(), 6u);
  EXPECT_EQ(model.layers[0], (Layer{LayerKind::conv2d, "conv1", 3, 5, 3}));
  EXPECT_EQ(model.layers[1], (Layer{LayerKind::relu, "relu1"}));
  EXPECT_EQ(model.layers[2], (Layer{LayerKind::conv2d, "conv2", 5, 5, 3, false}));
  EXPECT_EQ(model.layers[3].from, "relu1");
  EXPECT_EQ(model.layers[5], (Layer{LayerKind::linear, "out", 4 * 4 * 5, 4}));
}

TEST(ModelFile, IsReadBackAsItWasWritten) {
  for (const std::string& name : model_names()) {
    const Model model = find_model(name);
    EXPECT_EQ(parse_model(to_toml(model), "file", "file"), model) << to_toml(model);
  }
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Model model = tests::random_model(seed);
    EXPECT_EQ(parse_model(to_toml(model), "file", "file"), model) << to_toml(model);
  }
}

TEST(ModelFile, NetworksThatComeAlongAsFilesHaveNames) {
  const std::vector<std::string> names = model_names();
  for (const char* const name : {"resnet9", "vgg", "classifier_bn"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end());
    const ShippedNetwork* const shipped = find_shipped(name);
    ASSERT_NE(shipped, nullptr);
    const Model model = model_of(name);
    EXPECT_EQ(model.name, name);
    EXPECT_EQ(model, parse_model(shipped->text, "file", name));
    EXPECT_EQ(text_of(model), to_toml(model)) << "a later version may come with another network of that name";
  }
  EXPECT_EQ(find_shipped("classifier"), nullptr);
  EXPECT_EQ(find_model("vgg").layers.size(), 31u);
}

TEST(ModelFile, AFileMayBeCalledAsANetworkThatComesAlongAndIsNotThat) {
  const tests::TemporaryFolder folder;
  tests::write_text(folder / "vgg.toml", kSmall);
  EXPECT_EQ(model_of((folder / "vgg.toml").string()).layers.size(), 6u);
  EXPECT_EQ(with_name_of_its_own(parse_model(kSmall, "vgg.toml", "vgg")).name, "vgg-edited");
  EXPECT_EQ(with_name_of_its_own(find_model("vgg")).name, "vgg");
}

TEST(ModelFile, AFactorIsKeptWhateverItIs) {
  for (const char* const factor : {"0.125", "-3", "1e-30", "1", "1000000"}) {
    const Model model =
        parse_model(changed("{type = \"relu\"}",
                            fmt::format("{{type = \"scale\", name = \"relu1\", factor = {}}}", factor)),
                    "mine.toml", "mine");
    EXPECT_EQ(model.layers[1].factor, std::stof(factor));
    EXPECT_EQ(parse_model(to_toml(model), "file", "file"), model) << to_toml(model);
  }
}

TEST(ModelFile, ForPeopleIsCalledWhatTheFileIsAndTellsSizes) {
  Model model = find_model("autoencoder");
  const std::string text = to_toml(model, Style::for_people);
  EXPECT_NE(text.find("# 16x16x128, 295040 parameters"), std::string::npos) << text;
  model.name = "mine";
  EXPECT_EQ(parse_model(text, "mine.toml", "mine"), model);
}

TEST(ModelFile, SaysWhereAMistakeIs) {
  const std::tuple<std::string, std::string, std::string> mistakes[] = {
      {"channels = 5, kernel", "chanels = 5, kernel",
       "mine.toml:5: conv2d has no 'chanels'; valid: type, name, channels, kernel, stride, "
       "dilation, padding, bias"},
      {"{type = \"relu\"}", "{type = \"rleu\"}",
       "mine.toml:6: there is no layer 'rleu'; valid: conv2d, conv1d, linear, relu, gelu, "},
      {"{type = \"relu\"}", "{name = \"relu\"}", "mine.toml:6: type is missing"},
      {"{type = \"relu\"}", "{type = \"re\\u0000lu\"}", "mine.toml:6: type must not hold a null character"},
      {"channels = 5, kernel", "\"chan\\u0000nels\" = 5, kernel",
       "mine.toml:5: conv2d has no 'chan\\x00nels'; valid: type"},
      {"{type = \"relu\"}", "\"relu\"", "mine.toml:6: a layer looks like {type = \"relu\"}"},
      {"channels = 5, kernel = 3", "channels = 5, kernel = 4", "mine.toml:5: kernel must be odd"},
      {"channels = 5, kernel = 3", "channels = 0", "mine.toml:5: channels is 0, from 1 to 65536 are valid"},
      {"channels = 5, kernel = 3", "channels = 2.5", "mine.toml:5: channels takes whole numbers"},
      {"channels = 5, kernel = 3", "kernel = 3", "mine.toml:5: layer conv1: channels is missing"},
      {"bias = false", "bias = 0", "mine.toml:7: bias takes true or false"},
      {"bias = false", "padding = true", "mine.toml:7: padding takes \"same\" or \"valid\""},
      {"bias = false", "stride = 3", "mine.toml:7: stride is 3, from 1 to 2 are valid"},
      {"bias = false", "kernel = 9, padding = \"valid\"",
       "mine.toml:7: layer conv2: its input, 8x8x5, is smaller than the 9x9 that the kernel spans"},
      {"{type = \"relu\"}", "{type = \"dropout\", rate = 1}",
       "mine.toml:6: rate is 1, from 0 to 0.99 are valid"},
      {"{type = \"relu\"}", "{type = \"dropout\", rate = \"a\"}", "mine.toml:6: rate takes a number"},
      {"{type = \"relu\"}", "{type = \"scale\"}", "mine.toml:6: layer scale1: factor is missing"},
      {"{type = \"relu\"}", "{type = \"scale\", factor = 0}",
       "mine.toml:6: layer scale1: multiplies by 0, but a factor is finite and not 0"},
      {"{type = \"relu\"}", "{type = \"scale\", factor = 1e-60}",
       "mine.toml:6: layer scale1: multiplies by 0, but a factor is finite and not 0"},
      {"{type = \"relu\"}", "{type = \"scale\", factor = inf}",
       "mine.toml:6: factor is inf, from -1000000 to 1000000 are valid"},
      {"{type = \"relu\"}", "{type = \"scale\", factor = nan}",
       "mine.toml:6: factor is nan, from -1000000 to 1000000 are valid"},
      {"{type = \"relu\"}", "{type = \"scale\", factor = \"a\"}", "mine.toml:6: factor takes a number"},
      {"{type = \"relu\"}", "{type = \"conv1d\", channels = 5}",
       "mine.toml:6: layer conv2: takes images one pixel high, gets 8x8x5"},
      {"{type = \"maxpool2d\"}", "{type = \"maxpool2d\", window = 4}",
       "mine.toml:9: window is 4, from 2 to 3 are valid"},
      {"from = \"relu1\"", "from = \"relu9\"",
       "mine.toml:8: layer add1: adds the output of 'relu9', which is no earlier layer"},
      {"from = \"relu1\"", "from = \"add1\"",
       "mine.toml:8: layer add1: adds the output of 'add1', which is no earlier layer"},
      {"channels = 5, bias", "channels = 6, bias",
       "mine.toml:8: layer add1: adds the output of 'relu1', which is 8x8x5, to 8x8x6"},
      {"[8, 8, 3]", "[8, 1, 3]", "mine.toml:9: layer pool1: its input, 8x1x5, is too small for 2x2 windows"},
      {"features = 4", "features = 3",
       "mine.toml: model mine: the output is 1x1x3; 4 classes (1 to 256) take 1x1x4"},
      {"name = \"out\"", "name = \"relu1\"", "mine.toml:10: layer relu1: an earlier layer has its name"},
      {"name = \"out\"", "name = \"head\"", "mine.toml:10: layer head: that name has a meaning already"},
      {"name = \"out\"", "name = \"a b\"",
       "mine.toml:10: layer a b: a name has 1 to 64 letters, digits and _ - ."},
      {"[8, 8, 3]", "[8, 8]",
       "mine.toml:1: input takes three numbers: height, width and channels of the images"},
      {"[8, 8, 3]", "[8, 8, 5000]", "mine.toml:1: input is 5000, from 1 to 4096 are valid"},
      {"cross_entropy", "hinge",
       "mine.toml:2: the loss 'hinge' is not known; valid: mse (reconstructs its input), cross_entropy"},
      {"\"cross_entropy\"", "\"mse\"", "mine.toml:3: classes belong to the loss cross_entropy"},
      {"classes = 4", "", "mine.toml:1: classes is missing"},
      {"classes = 4", "clases = 4",
       "mine.toml:3: a network has no 'clases'; valid: name, input, text, loss, classes, layers"},
      {"classes = 4", "classes = 4\nname = \"mlp\"",
       "mine.toml:4: mlp is the name of a built-in network; choose another"},
      {"classes = 4", "classes = ", "mine.toml:3: "},
  };
  for (const auto& [from, to, message] : mistakes) {
    const std::string said = refusal(changed(from, to));
    EXPECT_EQ(said.substr(0, message.size()), message) << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  }
}

constexpr const char* kText = R"(text = {length = 20, alphabet = "ab\u00e9\n"}
loss = "cross_entropy"
classes = 2
layers = [
  {type = "one_hot"},
  {type = "conv1d", channels = 5, padding = "valid"},
  {type = "relu"},
  {type = "linear", features = 2},
]
)";

/// kText with one text instead of another.
std::string changed_text(const std::string& from, const std::string& to) {
  std::string text = kText;
  return text.replace(text.find(from), from.size(), to);
}

TEST(ModelFile, RefusesNamesThatDoNotStandInOneLine) {
  const std::string network =
      "mine.toml:1: the name of a network has 1 to 200 bytes and no control characters";
  for (const char* name : {"", "a\\nb", "a\\u0001", "\\t"}) {
    EXPECT_EQ(refusal(fmt::format("name = \"{}\"\n", name) + kSmall), network) << name;
  }
  EXPECT_EQ(refusal("name = \"" + std::string(201, 'a') + "\"\n" + kSmall), network);
  EXPECT_EQ(refusal("name = \"Netz für Zahlen, 2\"\n" + std::string(kSmall)), "");
  const std::string layer = "mine.toml:10: a name has 1 to 64 letters, digits and _ - .";
  for (const std::string& name : {std::string(), std::string("a\\nb"), std::string(100'000, 'a')}) {
    EXPECT_EQ(refusal(changed("\"out\"", '"' + name + '"')), layer);
  }
}

TEST(ModelFile, AKeyOfManyPartsIsRefused) {
  std::string key;
  for (int i = 0; i < 50'000; ++i) key += "a.";
  const std::string deep = "mine.toml: a key has more than 100 parts; a network's have one";
  EXPECT_EQ(refusal('[' + key + "a]"), deep);
  EXPECT_EQ(refusal(key + "a = 1"), deep);
}

TEST(ModelFile, HoldsANetworkThatTakesTexts) {
  const Model model = parse_model(kText, "mine.toml", "mine");
  EXPECT_EQ((Extent{model.height, model.width, model.channels}), (Extent{1, 20, 1}));
  EXPECT_EQ(model.alphabet, "ab\u00e9\n");
  EXPECT_TRUE(model.reads_text());
  EXPECT_EQ(model.layers[0].symbols, 4) << "the characters of the alphabet";
  EXPECT_EQ(model.layers[1].in_channels, 4);
  EXPECT_EQ(parse_model(to_toml(model), "file", "file"), model) << to_toml(model);
  EXPECT_EQ(model_of(text_of(model)), model);
  const Model table =
      parse_model(changed_text("one_hot\"", "embedding\", channels = 7"), "mine.toml", "mine");
  EXPECT_EQ(table.layers[1].in_channels, 7);
  EXPECT_EQ(parameter_layout(table).find("emb1.weight").shape, (std::vector<int>{5, 7}));
  EXPECT_EQ(parse_model(to_toml(table), "file", "file"), table);
}

TEST(ModelFile, SaysWhatIsWrongWithTexts) {
  const std::tuple<std::string, std::string, std::string> mistakes[] = {
      {"length = 20, ", "", "mine.toml:1: length is missing"},
      {"length = 20", "length = 5000", "mine.toml:1: length is 5000, from 1 to 4096 are valid"},
      {"length = 20", "size = 20", "mine.toml:1: text has no 'size'; valid: length, alphabet"},
      {"\"ab\\u00e9\\n\"", "\"\"", "mine.toml:1: the alphabet has no characters"},
      {"\"ab", "\"aba", "mine.toml: model mine: the alphabet has 'a' twice"},
      {"loss", "input = [1, 20, 1]\nloss",
       "mine.toml:2: a network takes images or texts: leave input or text away"},
      {"{length = 20, alphabet = \"ab\\u00e9\\n\"}", "20",
       "mine.toml:1: text looks like {length = 1014, alphabet = \"abc\"}"},
      {"\"cross_entropy\"\nclasses = 2", "\"mse\"",
       "mine.toml: model mine: a network that takes texts classifies; the loss is cross_entropy"},
      {"\"one_hot\"", "\"one_hot\", classes = 3",
       "mine.toml:5: layer onehot1: tells 3 characters apart, but the alphabet has 4"},
      {"\"one_hot\"", "\"one_hot\", classes = 1",
       "mine.toml:5: layer onehot1: tells 1 character apart, but the alphabet has 4"},
      {"{type = \"one_hot\"}", "{type = \"relu\"}, {type = \"one_hot\"}",
       "mine.toml:5: layer onehot1: reads the characters of the input, so that it must be the first layer"},
      {"text = {length = 20, alphabet = \"ab\\u00e9\\n\"}", "input = [1, 20, 1]",
       "mine.toml:5: layer onehot1: the input has no alphabet, so that classes must be given, from 1 to 255"},
      {"text = {length = 20, alphabet = \"ab\\u00e9\\n\"}", "input = [1, 20, 3]",
       "mine.toml:5: layer onehot1: takes one channel of bytes, gets 1x20x3"}};
  for (const auto& [from, to, message] : mistakes) EXPECT_EQ(refusal(changed_text(from, to)), message);
  std::string many;
  for (int i = 0; i < 256; ++i)
    many +=
        "\\u" + std::string(i < 160 ? "01" : "02") + "0123456789abcdef"[i % 160 / 10] + "0123456789"[i % 10];
  EXPECT_EQ(refusal(changed_text("ab\\u00e9", many)),
            "mine.toml: model mine: the alphabet has 257 characters, 255 are the most");
}

TEST(ModelFile, RefusesWhatNoMachineHolds) {
  std::string wide = changed("channels = 5, kernel = 3", "channels = 65535");
  wide.replace(wide.find("channels = 5,"), 13, "channels = 65535, kernel = 15,");
  EXPECT_EQ(refusal(wide), "mine.toml:7: layer conv2: more than 2,147,483,648 parameters in all");
  std::string many = "input = [4096, 4096, 3]\nloss = \"mse\"\nlayers = [";
  for (int i = 0; i < 3; ++i) many += "{type = \"conv2d\", channels = 60000},";
  EXPECT_NE(
      refusal(many + "]").find("mine.toml:3: layer conv1: makes images of 4096x4096x60000, more than fit"),
      std::string::npos)
      << refusal(many + "]");
}

TEST(ModelFile, WhateverItHoldsIsReadOrRefusedInASentence) {
  std::mt19937_64 dice(11);
  const std::string alphabet = "{}[]=,\"'#\n0123456789.-_abcdefxyz \\\xc3\xa9";
  int read = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = kSmall;
    const int edits = tests::throw_dice(dice, 1, 4);
    for (int edit = 0; edit < edits; ++edit) {
      const auto at = static_cast<std::size_t>(tests::throw_dice(dice, 0, static_cast<int>(text.size()) - 1));
      const char letter = alphabet[static_cast<std::size_t>(
          tests::throw_dice(dice, 0, static_cast<int>(alphabet.size()) - 1))];
      switch (tests::throw_dice(dice, 0, 3)) {
        case 0:
          text.erase(at, static_cast<std::size_t>(tests::throw_dice(dice, 1, 20)));
          break;
        case 1:
          text.insert(at, 1, letter);
          break;
        case 2:
          text.insert(at, text.substr(at, 30));
          break;
        default:
          text[at] = letter;
      }
      if (text.empty()) text = " ";
    }
    try {
      check_model(parse_model(text, "mine.toml", "mine"));
      ++read;
    } catch (const core::BadInput& error) {
      ++refused;
      EXPECT_EQ(std::string(error.what()).rfind("mine.toml:", 0), 0u) << error.what();
    }
  }
  EXPECT_GT(read, 5);
  EXPECT_GT(refused, 1000);
}

TEST(ModelText, IsTheNameOfABuiltInNetworkAndAllOfAnother) {
  EXPECT_EQ(text_of(find_model("mlp")), "mlp");
  EXPECT_EQ(model_of("mlp"), find_model("mlp"));
  const Model mine = parse_model(kSmall, "mine.toml", "mine");
  EXPECT_EQ(model_of(text_of(mine)), mine);
  EXPECT_EQ(name_in(text_of(mine)), "mine");
  EXPECT_EQ(name_in("mlp"), "mlp");
  Model other = find_model("mlp");
  other.layers.front().out_channels = 64;
  EXPECT_EQ(name_in(text_of(other)), "name = \"mlp\"") << "what cannot be read back is its own name";
}

TEST(ModelText, ANetworkThatWasBuiltInGetsANameOfItsOwn) {
  const Model built_in = find_model("mlp");
  EXPECT_EQ(with_name_of_its_own(built_in), built_in);
  Model edited = built_in;
  edited.layers[0].out_channels = 64;
  fit_layers(edited);
  const Model named = with_name_of_its_own(edited);
  EXPECT_EQ(named.name, "mlp-edited");
  EXPECT_EQ(model_of(text_of(named)), named);
  EXPECT_EQ(with_name_of_its_own(named), named);
}

TEST(ModelText, NamesAFileByItsEnding) {
  const tests::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "m\u00fcller net.toml";
  std::ofstream(file) << kSmall;
  EXPECT_EQ(model_of(file.string()).name, "m\u00fcller net");
  EXPECT_THROW(model_of((folder.path() / "none.toml").string()), core::BadInput);
  EXPECT_THROW(model_of("none"), core::BadInput);
}

}  // namespace
}  // namespace warpscope::models::model_file_test
