#include "gpu/data/near_misses.h"

#include <string>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/data/locate.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::data::near_misses_test {
namespace {

using tests::holds;
using tests::write_text;

class NearMisses : public testing::Test {
 protected:
  std::string in(const std::string& folder, bool texts = false) const {
    return near_miss(folder_ / folder, texts);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  const tests::TemporaryFolder folder_;
};

TEST_F(NearMisses, OtherFormsOfPublishedSetsAreNamed) {
  write_text(folder_ / "cifar-10-batches-py/data_batch_1", "\x80\x02}");
  write_text(folder_ / "cifar-10-batches-py/batches.meta", "\x80\x02}");
  const std::string told =
      path("cifar-10-batches-py") +
      " holds the Python version of CIFAR-10; bring the binary version: warpscope fetch cifar10";
  EXPECT_EQ(in("cifar-10-batches-py"), told);
  EXPECT_EQ(in(""), told);
  const auto refusal = [&](const std::string& option) {
    return tests::message_of<core::BadInput>([&] { locate(option, {{32, 32, 3}, 10, "mine"}); });
  };
  EXPECT_EQ(refusal(folder_.path().string()), "no CIFAR-10 in " + folder_.path().string() + ": " + told);
  EXPECT_EQ(refusal("cifar10:" + path("cifar-10-batches-py")),
            "no CIFAR-10 in " + path("cifar-10-batches-py") + ": " + told);
  write_text(folder_ / "other/train", "\x80\x02}");
  write_text(folder_ / "other/meta", "\x80\x02}");
  EXPECT_TRUE(holds(in("other"), {"holds the Python version of CIFAR-100; bring", "fetch cifar100"}));
}

TEST_F(NearMisses, FilesThatNoSetConsistsOfAreNamedByWhatTheyHold) {
  write_text(folder_ / "a/train_32x32.mat", "MATLAB 5.0 MAT-file");
  EXPECT_EQ(
      in("a"),
      path("a/train_32x32.mat") +
          " is a MATLAB file, which is not read; write its images as PNG files, in a folder for each class");
  write_text(folder_ / "b/cifar-10-binary.tar.gz", "\x1f\x8b\x08");
  write_text(folder_ / "b/.hidden", "PAR1");
  EXPECT_EQ(in("b"), path("b/cifar-10-binary.tar.gz") + " is packed by gzip, which is not read; unpack it");
  EXPECT_EQ(in("b/cifar-10-binary.tar.gz"), in("b"));
  write_text(folder_ / "c/x", "\x93NUMPY");
  EXPECT_TRUE(holds(in("c"), {"c/x is a NumPy array"}));
  write_text(folder_ / "d/rows.jsonl", "{}");
  EXPECT_EQ(in("d"), "");
  EXPECT_TRUE(holds(in("d", true), {"save it as CSV in UTF-8, with a class and a text in each row"}));
  EXPECT_EQ(told_as_table("d/rows.JSONL"),
            "d/rows.JSONL is a JSON file, which is not read; save it as CSV in UTF-8");
  EXPECT_EQ(told_as_table("d/rows.txt"), "");
  write_text(folder_ / "f/x", "PK\x03\x04" + std::string(26, ' ') + "[Content_Types].xml");
  EXPECT_EQ(in("f"), path("f/x") + " is an Office file, which is not read; save it as CSV in UTF-8");
  write_text(folder_ / "e/notes.txt", "nothing");
  EXPECT_EQ(in("e"), "");
  EXPECT_EQ(in("e/notes.txt"), path("e/notes.txt") + " is a file; name the folder that holds it");
  EXPECT_EQ(in("nowhere"), "");
}

}  // namespace
}  // namespace warpscope::data::near_misses_test
