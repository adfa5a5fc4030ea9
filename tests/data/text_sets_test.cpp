#include "gpu/data/text_sets.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/data/locate.h"
#include "gpu/data/set_kinds.h"
#include "gpu/data/split.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::data::text_sets_test {
namespace {

using namespace std::string_literals;
using tests::holds;
using Names = std::vector<std::string>;
using Labels = std::vector<std::uint8_t>;

const Requirements kText{{1, 8, 1}, 4, "mine", "abcdefghijklmnopqrstuvwxyz"};
const Requirements kImages{{32, 32, 3}, 10, "pictures"};

class TextSets : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  DataSet load(const std::string& option, const Requirements& model = kText) {
    return data::load(option, notice_, model);
  }
  std::string refusal(const std::string& option, const Requirements& model = kText) {
    return tests::message_of<core::BadInput>([&] { load(option, model); });
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  const tests::TemporaryFolder folder_;
  std::string notice_;
};

TEST_F(TextSets, AgNewsIsReadAsPublished) {
  write("ag_news/train.csv",
        "\"3\",\"Fears for pension\",\"Unions say \"\"no\"\".\"\r\n\"1\",\"\",\"One\\ntwo\\b\"\r\n");
  write("ag_news/test.csv", "\"4\",\"A\",\"\"\n");
  const DataSet set = load(folder_.path().string());
  EXPECT_EQ(set.name, "AG News");
  EXPECT_EQ(set.classes, (Names{"World", "Sports", "Business", "Sci/Tech"}));
  EXPECT_EQ(set.train.labels, (Labels{2, 0}));
  EXPECT_EQ(set.train.texts, (Names{"Fears for pension Unions say \"no\".", "One\ntwo\\b"}));
  EXPECT_EQ(set.train.shape(), (ImageShape{1, 8, 1}));
  EXPECT_EQ(Labels(set.train.pixels.begin(), set.train.pixels.begin() + 8),
            (Labels{15, 6, 0, 19, 18, 1, 5, 6}))
      << "\"fears fo\" backwards";
  EXPECT_EQ(set.test.labels, Labels{3});
  EXPECT_EQ(set.test.texts, Names{"A"});
  EXPECT_EQ(notice_, "");
  EXPECT_EQ(set.source, path("ag_news"));
}

TEST_F(TextSets, APartOfAgNewsIsSaidToBeOne) {
  write("ag_news/train_part.csv", "\"3\",\"\",\"x\"\n\"1\",\"\",\"y\"\n");
  write("ag_news/test.csv", "\"4\",\"A\",\"\"\n");
  EXPECT_EQ(load(path("ag_news")).train.count, 2);
  EXPECT_TRUE(holds(notice_, {"train.csv is not there", "train_part.csv holds 2 of the rows of AG News"}));
}

TEST_F(TextSets, BrokenRowsAreRefusedByFileAndLine) {
  write("ag_news/test.csv", "\"4\",\"A\",\"\"\n");
  EXPECT_TRUE(holds(refusal(path("ag_news")), {"lacks train.csv"}));
  write("ag_news/train_part.csv.xz",
        "\xFD"
        "7zXZ\0"s);
  EXPECT_TRUE(
      holds(refusal(path("ag_news")),
            {"lacks train.csv: " + path("ag_news/train_part.csv.xz") + " is packed by xz", "unpack it"}));
  write("ag_news/train.csv", "\"3\",\"a\",\"b\"\n\"1\",\"a\"\n");
  EXPECT_EQ(refusal(path("ag_news")), path("ag_news/train.csv") + ":2: 2 fields in a row, 3 are needed");
  write("ag_news/train.csv", "\"3\",\"a\",\"b\"\n\n\"5\",\"a\",\"b\"\n");
  EXPECT_TRUE(holds(refusal(path("ag_news")), {"train.csv:3: '5' is no class"}));
  write("ag_news/train.csv", "\"3\",\"a\",\"b");
  EXPECT_EQ(refusal(path("ag_news")), path("ag_news/train.csv") + ":1: a quote is not closed");
  write("ag_news/train.csv", "");
  EXPECT_EQ(refusal(path("ag_news")), path("ag_news/train.csv") + " holds no texts");
}

TEST_F(TextSets, OwnClassesHaveAnyNames) {
  write("mine/train.csv", "label,text\nham,hello there\nspam,\"buy, now\"\nham,\n");
  write("mine/test.csv", "spam,x,y\n");
  const DataSet set = load(path("mine"));
  EXPECT_EQ(set.name, "mine");
  EXPECT_EQ(set.classes, (Names{"ham", "spam"}));
  EXPECT_EQ(set.train.labels, (Labels{0, 1, 0}));
  EXPECT_EQ(set.train.texts, (Names{"hello there", "buy, now", ""}));
  EXPECT_EQ(set.test.texts, Names{"x y"});
  EXPECT_EQ(set.source, path("mine"));
  EXPECT_EQ(load("csv:" + path("mine")).classes, set.classes);
  write("mine/test.csv", "eggs,x\n");
  EXPECT_TRUE(holds(refusal(path("mine")), {"test.csv:1: 'eggs' is no class", "ham, spam"}));
  write("mine/test.csv", "spam\n");
  EXPECT_EQ(refusal(path("mine")), path("mine/test.csv") + ":1: 1 field in a row, 2 or more are needed");
}

TEST_F(TextSets, TitlesNameTheColumns) {
  for (const auto& [rows, texts] : std::vector<std::pair<std::string, Names>>{
           {"v1,v2,,,\nham,text 1,,,\nspam,text 2,\" and on\",,\n", {"text 1", "text 2  and on"}},
           {"Class Index,Title,Description\nham,A,b\nspam,B,c\n", {"A b", "B c"}},
           {"sentiment,tweet\nham,a\nspam,b\n", {"a", "b"}},
           {"label, text\nham,a\nspam ,b, c\n", {"a", "b  c"}},
           {"review,sentiment\na,ham\n\"b, c\",spam\n", {"a", "b, c"}},
           {"\xEF\xBB\xBFid,text,Label\n1,a,ham\n2,b,spam\n", {"a", "b"}},
       }) {
    write("mine/train.csv", rows);
    write("mine/test.csv", rows);
    const DataSet set = load(path("mine"));
    EXPECT_EQ(set.classes, (Names{"ham", "spam"})) << rows;
    EXPECT_EQ(set.train.texts, texts);
    EXPECT_EQ(set.test.texts, texts);
    EXPECT_TRUE(
        holds(notice_, {"train.csv:1 is a title, not a text: the class is in '", "test.csv:1 is a title"}));
  }
  write("mine/train.csv", "id,text\n1,a\n2,b\n");
  EXPECT_EQ(refusal(path("mine")),
            path("mine/train.csv") + ":1: by this title no column is the class; call it label");
  write("mine/train.csv", "id,text,label\n1,a,ham\n2,b\n");
  EXPECT_EQ(refusal(path("mine")), path("mine/train.csv") + ":3: 2 fields in a row, 3 or more are needed");
}

TEST_F(TextSets, TitlesOfFilesBehindEachOtherAreNoTexts) {
  write("mine/test.csv", "sep=,\nlabel,text\nham,a\nspam,b\n");
  write("mine/train.csv", "label,text\nham,a\nlabel,text\nspam,b\n");
  const DataSet set = load(path("mine"));
  EXPECT_EQ(set.classes, (Names{"ham", "spam"}));
  EXPECT_EQ(set.train.count, 2);
  EXPECT_EQ(set.test.count, 2);
  EXPECT_TRUE(
      holds(notice_, {"1 row of " + path("mine/train.csv") + " is the title once more and was left out"}));
}

TEST_F(TextSets, AFirstRowWhoseClassNoOtherRowHasIsATitle) {
  write("mine/train.csv", "Klasse,Satz\nham,a\nspam,b\n");
  write("mine/test.csv", "Klasse,Satz\nspam,b\n");
  DataSet set = load(path("mine"));
  EXPECT_EQ(set.classes, (Names{"ham", "spam"}));
  EXPECT_EQ(set.train.texts, (Names{"a", "b"}));
  EXPECT_EQ(set.test.texts, Names{"b"});
  EXPECT_TRUE(
      holds(notice_, {"train.csv:1 is taken for a title and left out, since no other row has the class "
                      "'Klasse'; if it is none, begin the file with a row label,text; ",
                      "test.csv:1 is taken"}));
  write("mine/train.csv", "7,a\n1,b\n2,c\n");
  write("mine/test.csv", "1,b\n");
  EXPECT_EQ(load(path("mine")).classes, (Names{"1", "2", "7"})) << "a number among numbers is no title";
  EXPECT_EQ(notice_, "");
  write("mine/train.csv", "0,1\nham,b\nspam,c\n");
  write("mine/test.csv", "ham,b\n");
  EXPECT_EQ(load(path("mine")).classes, (Names{"ham", "spam"}));
  write("mine/train.csv", "label,text\neggs,a\nham,b\nspam,c\n");
  write("mine/test.csv", "ham,b\nham,b\n");
  EXPECT_EQ(load(path("mine")).classes, (Names{"eggs", "ham", "spam"}));
}

TEST_F(TextSets, RowsWithoutAClassAreLeftOutAndCounted) {
  write("mine/train.csv", "ham,a\n,b\nspam,c\n\" \",d\n");
  write("mine/test.csv", "ham,b\n");
  EXPECT_EQ(load(path("mine")).classes, (Names{"ham", "spam"}));
  EXPECT_EQ(notice_, "2 of 4 rows of " + path("mine/train.csv") +
                         " have no class and were left out, the first on line 2");
  write("mine/test.csv", ",b\n");
  EXPECT_EQ(refusal(path("mine")), path("mine/test.csv") + ":1: no row has a class");
}

TEST_F(TextSets, HalvesHaveTheirUsualNames) {
  write("mine/Training.csv", "ham,a\nspam,b\n");
  write("mine/VAL.CSV", "spam,c\n");
  EXPECT_EQ(load(path("mine")).test.texts, Names{"c"});
  EXPECT_EQ(notice_, "the texts in " + path("mine/VAL.CSV") + " test, since there are no others");
  write("mine/my_test.csv", "ham,d\n");
  write("mine/notes.csv", "whatever\n");
  DataSet set = load(path("mine"));
  EXPECT_EQ(set.test.texts, Names{"d"});
  EXPECT_EQ(set.validation.texts, Names{"c"});
  EXPECT_EQ(notice_, "1 text in " + path("mine/VAL.CSV") +
                         " steers, as those that --validation holds out do; not "
                         "looked at in " +
                         path("mine") + ": notes.csv");
  write("mine/train.csv", "ham,a\nspam,b\n");
  EXPECT_TRUE(
      holds(refusal(path("mine")), {"Training.csv and ", "train.csv could both be the training data"}));
  write("ag_news/Train.csv", "Class Index,Title,Description\n3,a,b\n");
  write("ag_news/Test.csv", "\"4\",\"A\",\"\"\n");
  EXPECT_EQ(load(path("ag_news")).train.texts, Names{"a b"});
  EXPECT_TRUE(holds(notice_, {"Train.csv:1 is a title, not a text"}));
}

TEST_F(TextSets, EncodingsAndLineEndsAreTold) {
  const auto wide = [](const std::string& text, bool big_endian) {
    std::string bytes = big_endian ? "\xFE\xFF" : "\xFF\xFE";
    for (const char c : text) bytes += big_endian ? std::string{'\0', c} : std::string{c, '\0'};
    return bytes;
  };
  const std::string rows = "ham,a\nspam,b\nham,c\n";
  std::string carriage = rows;
  std::replace(carriage.begin(), carriage.end(), '\n', '\r');
  for (const std::string& text : {carriage, wide(rows, true), wide(rows, false), wide(carriage, true)}) {
    write("mine/train.csv", text);
    write("mine/test.csv", rows);
    const DataSet set = load(path("mine"));
    EXPECT_EQ(set.train.texts, (Names{"a", "b", "c"}));
    EXPECT_EQ(notice_, "");
  }
  write("mine/test.csv", "ha,x\nhi,y\n");
  write("mine/train.csv", "\xFF\xFEh\0a\0,\0=\xD8\n\xDEx\0\n\0h\0i\0,\0"s);
  EXPECT_EQ(load_csv(*find_set("csv"), folder_ / "mine", kText).train.texts,
            (Names{"\xF0\x9F\x98\x8Ax", ""}));
  write("mine/test.csv", rows);
  write("mine/train.csv", "ham,caf\xE9\nspam,b\nham,\xC3\xA9\n");
  load(path("mine"));
  EXPECT_EQ(notice_,
            "1 of 3 lines of " + path("mine/train.csv") +
                " is not UTF-8, the first is line 1: such characters count as unknown; save it as UTF-8");
  write("mine/train.csv", wide(rows, true).substr(2));
  EXPECT_TRUE(holds(refusal(path("mine")), {"train.csv:1: a zero byte", "UTF-16 without a mark"}));
  write("mine/train.csv", "\xFF\xFE\0\0"s + "h\0\0\0"s);
  EXPECT_EQ(refusal(path("mine")), path("mine/train.csv") + " is text in UTF-32; save it as UTF-8");
  write("mine/train.csv", "PK\x03\x04");
  EXPECT_EQ(refusal(path("mine")), path("mine/train.csv") + " is no text but a zip archive; unpack it");
  write("mine/train.csv", "ham;a\nspam;b\n");
  EXPECT_EQ(refusal(path("mine")),
            path("mine/train.csv") +
                ":1: 1 field in a row, 2 or more are needed; a comma separates fields, not a "
                "semicolon");
  write("mine/train.csv", "ham|a\nspam|b\n");
  EXPECT_TRUE(holds(refusal(path("mine")), {"; a comma separates fields, not a bar (|)"}));
}

TEST_F(TextSets, TextsThatStandBeforeTheirClassesAreToldAsThat) {
  std::string rows;
  for (int i = 0; i < 300; ++i) rows += "text " + std::to_string(i) + (i % 2 == 0 ? ",ham\n" : ",spam\n");
  write("mine/all.csv", rows);
  EXPECT_TRUE(holds(refusal(path("mine")), {"; the class is the first field of each of its ",
                                            " rows, unless a title says otherwise"}));
}

TEST_F(TextSets, NumbersAreClassesInTheirOrder) {
  write("mine/train.csv", "10,a\n9,b\n2,c\n");
  write("mine/test.csv", "9,b\n");
  EXPECT_EQ(load(path("mine")).classes, (Names{"2", "9", "10"}));
}

TEST_F(TextSets, OneFileGivesEveryTenthTextToTest) {
  std::string rows;
  for (int i = 0; i < 20; ++i) rows += (i % 2 == 0 ? "a,even " : "b,odd ") + std::to_string(i) + "\n";
  write("mine/all.csv", rows);
  const DataSet set = load(path("mine"));
  EXPECT_EQ(set.train.count, 18);
  EXPECT_EQ(set.test.texts, (Names{"even 18", "odd 19"}));
  EXPECT_TRUE(holds(notice_, {"has no test.csv", "2 texts"}));
  write("one/all.csv", "a,x\nb,y\n");
  EXPECT_TRUE(holds(refusal(path("one")), {"has one text, which leaves none to test with"}));
}

TEST_F(TextSets, TextsAndImagesAreToldApartBothWays) {
  write("mine/train.csv", "a,x\nb,y\n");
  write("mine/test.csv", "a,x\n");
  EXPECT_EQ(refusal(path("mine"), kImages),
            path("mine") + " holds texts, but pictures takes images of 32x32x3");
  EXPECT_TRUE(holds(refusal("csv:" + path("mine"), kImages),
                    {path("mine") + " holds texts, but pictures takes images of 32x32x3; valid: "}));
  std::filesystem::create_directories(folder_ / "nothing");
  EXPECT_TRUE(holds(refusal("csv:" + path("nothing"), kImages), {"no texts in " + path("nothing")}));
  EXPECT_EQ(refusal("sentences", kImages),
            "built-in sentences holds texts, but pictures takes images of 32x32x3; valid: cifar10, scenes, "
            "builtin or "
            "a folder");
  EXPECT_EQ(refusal("mnist"),
            "MNIST holds images, but mine takes texts; valid: ag_news, sentences, builtin or a folder");
  write("ag_news/test.csv", "\"4\",\"A\",\"\"\n");
  EXPECT_TRUE(holds(refusal(path("ag_news"), kImages), {"it holds AG News, with 4 classes of texts"}));
  const Requirements three{{1, 8, 1}, 3, "mine", "abc"};
  EXPECT_TRUE(holds(refusal("ag_news", three), {"AG News has 4 classes, but mine tells 3 apart"}));
}

TEST_F(TextSets, WithoutDataSentencesStandIn) {
  EXPECT_EQ(locate("builtin", kText).set->name, "sentences");
  EXPECT_EQ(locate("builtin", {{1, 8, 1}, 2, "mine", "abc"}).set->name, "sentences");
  EXPECT_EQ(locate("builtin", {{1, 8, 1}, 4, "grey lines"}).set->name, "scenes");
}

TEST_F(TextSets, ReadingCanBeStopped) {
  write("mine/train.csv", "a,x\nb,y\n");
  const auto at_once = [] { return true; };
  EXPECT_THROW(load_csv(*find_set("csv"), folder_ / "mine", kText, at_once), core::Error);
}

TEST(TextSplit, TextsGoWithTheirBytes) {
  const DataSet whole = make_sentences(kText, 40, 4);
  const DataSet set = split_validation(DataSet(whole), 0.25, 3);
  const Alphabet alphabet(kText.alphabet);
  ASSERT_EQ(set.validation.count, 10);
  for (const ImageSet* part : {&set.train, &set.validation}) {
    ASSERT_EQ(part->texts.size(), static_cast<std::size_t>(part->count));
    for (std::size_t i = 0; i < part->texts.size(); ++i) {
      EXPECT_EQ(Labels(part->pixels.begin() + static_cast<std::ptrdiff_t>(8 * i),
                       part->pixels.begin() + static_cast<std::ptrdiff_t>(8 * i + 8)),
                alphabet.encode(part->texts[i], 8));
    }
  }
}

TEST(Sentences, AreTheSameEverywhereAndDifferFromEachOther) {
  const DataSet few = make_sentences(kText, 40, 8), more = make_sentences(kText, 400, 8);
  ASSERT_EQ(few.train.texts.size(), 40U);
  EXPECT_TRUE(std::equal(few.train.texts.begin(), few.train.texts.end(), more.train.texts.begin()));
  EXPECT_EQ(more.train.texts[0], sentence(0x7365'6e74'0000'0000ULL, 0, more.train.labels[0]));
  const std::set<std::string> different(more.train.texts.begin(), more.train.texts.end());
  EXPECT_GT(different.size(), 390U);
  std::array<int, 4> sizes{};
  for (const std::uint8_t label : more.train.labels) ++sizes[label];
  EXPECT_EQ(sizes, (std::array<int, 4>{100, 100, 100, 100}));
  const Requirements two{{1, 8, 1}, 2, "mine", "abc"};
  EXPECT_EQ(make_sentences(two, 8, 4).classes, (Names{"weather", "kitchen"}));
  EXPECT_THROW(make_sentences(kText, -1, 4), core::BadInput);
  EXPECT_THROW(make_sentences(kImages, 8, 4), core::BadInput);
}

}  // namespace
}  // namespace warpscope::data::text_sets_test
