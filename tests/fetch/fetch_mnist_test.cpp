#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include "app/fetch/download.h"
#include "app/fetch/fetch.h"
#include "gpu/data/set_kinds.h"
#include "tests/core/temporary_folder.h"
#include "tests/data/idx_files.h"
#include "tests/fetch/http_server.h"

namespace warpscope::fetch::fetch_mnist_test {
namespace {

namespace fs = std::filesystem;
using core::BadInput;
using core::Error;
using tests::count_entries;
using tests::holds;
using tests::HttpServer;
using tests::message_of;
using tests::read_text;
using tests::TemporaryFolder;
using tests::write_text;

std::string md5(const std::string& text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int bytes = 0;
  EVP_Digest(text.data(), text.size(), digest, &bytes, EVP_md5(), nullptr);
  std::string result;
  for (unsigned int i = 0; i < bytes; ++i) {
    result += "0123456789abcdef"[digest[i] >> 4];
    result += "0123456789abcdef"[digest[i] & 15];
  }
  return result;
}

/// Two mirrors that are folders, and a place to fetch to.
class FetchMnist : public testing::Test {
 protected:
  void SetUp() override {
    const std::vector<std::string> contents{tests::idx_images(40), tests::idx_labels(40),
                                            tests::idx_images(20, 3), tests::idx_labels(20)};
    for (std::size_t i = 0; i < contents.size(); ++i) {
      const std::string packed = tests::gzip(contents[i]);
      source_.files[i].md5 = md5(packed);
      source_.files[i].bytes = static_cast<std::int64_t>(packed.size());
      for (const char* mirror : {"first", "second"})
        write_text(folder_ / mirror / source_.files[i].name, packed);
    }
    source_.mirrors = {address("first"), address("second")};
  }
  std::string address(const std::string& mirror) const {
    return "file://" + (folder_ / mirror).string() + "/";
  }
  fs::path fetch(const Callback& progress = {}) {
    return fetch_data_set(source_, folder_ / "data", progress);
  }
  fs::path part(std::size_t file) const {
    return folder_ / "data" / ("mnist." + source_.files[file].name + ".part");
  }

  void expect_fetched(const fs::path& folder) const {
    EXPECT_EQ(folder, folder_ / "data" / "mnist");
    EXPECT_EQ(count_entries(folder_ / "data"), 1);
    EXPECT_EQ(count_entries(folder), 4);
    const data::DataSet set = data::load_idx_set(*data::find_set("mnist"), folder);
    EXPECT_EQ(set.train.count, 40);
    EXPECT_EQ(set.test.count, 20);
    EXPECT_EQ(set.test.pixels[1], 10);
  }

  tests::Variable no_proxy_{"no_proxy", "127.0.0.1"};
  TemporaryFolder folder_;
  Source source_ = find_source("mnist");
};

TEST_F(FetchMnist, BringsAllFilesWithOneProgress) {
  std::vector<Progress> seen;
  expect_fetched(fetch([&](const Progress& progress) {
    seen.push_back(progress);
    return true;
  }));
  std::int64_t all = 0;
  for (const SourceFile& file : source_.files) all += file.bytes;
  ASSERT_FALSE(seen.empty());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i].total_bytes, all);
    EXPECT_LE(seen[i].done_bytes, all);
  }
  EXPECT_EQ(seen.back().done_bytes, all);
}

TEST_F(FetchMnist, GoesToTheNextMirrorWhereAFileIsMissingOrAnother) {
  fs::remove(folder_ / "first" / source_.files[1].name);
  write_text(folder_ / "first" / source_.files[2].name, "something else");
  expect_fetched(fetch());
}

TEST_F(FetchMnist, GoesToTheNextMirrorIfAServerIsBroken) {
  const HttpServer server("", {.status = 503});
  source_.mirrors = {server.url(""), address("second")};
  expect_fetched(fetch());
  EXPECT_EQ(server.ranges().size(), 4u);
}

TEST_F(FetchMnist, NamesTheLastMirrorIfNoneHasTheFile) {
  for (const char* mirror : {"first", "second"}) fs::remove(folder_ / mirror / source_.files[3].name);
  EXPECT_TRUE(holds(message_of<Error>([&] { fetch(); }), {address("second") + source_.files[3].name}));
  EXPECT_FALSE(fs::exists(folder_ / "data" / "mnist"));
  // What came stays for the next time; the empty part does not.
  EXPECT_EQ(count_entries(folder_ / "data"), 3);
}

TEST_F(FetchMnist, ResumesPartsAndKeepsWholeOnes) {
  const std::string images = read_text(folder_ / "first" / source_.files[0].name);
  write_text(part(0), images.substr(0, 100));
  write_text(part(1), read_text(folder_ / "first" / source_.files[1].name));
  for (const char* mirror : {"first", "second"}) fs::remove(folder_ / mirror / source_.files[1].name);
  expect_fetched(fetch());
}

TEST_F(FetchMnist, StartsAgainAfterAWrongPart) {
  write_text(part(0), std::string(100, 'x'));
  expect_fetched(fetch());
}

TEST_F(FetchMnist, DoesNotGoOnWithAPartOfAnotherSetsFileOfTheSameName) {
  Source other = source_;
  other.data_set = "fashion_mnist";
  other.mirrors = {address("other")};
  write_text(folder_ / "other" / other.files[0].name, std::string(100, 'x'));
  EXPECT_THROW(fetch_data_set(other, folder_ / "data",
                              [](const Progress& progress) { return progress.phase != Phase::check; }),
               Cancelled);
  EXPECT_GT(count_entries(folder_ / "data"), 0);
  source_.mirrors = {address("first")};  // no second one to try
  EXPECT_EQ(fetch(), folder_ / "data" / "mnist");
}

TEST_F(FetchMnist, RemovesAFileWithTheWrongChecksum) {
  source_.files[3].md5 = std::string(32, '0');
  EXPECT_TRUE(holds(message_of<Error>([&] { fetch(); }), {source_.files[3].name, "removed"}));
  EXPECT_FALSE(fs::exists(part(3)));
  EXPECT_FALSE(fs::exists(folder_ / "data" / "mnist"));
}

TEST_F(FetchMnist, CanBeCancelled) {
  int calls = 0;
  EXPECT_THROW(fetch([&](const Progress&) { return ++calls < 4; }), Cancelled);
  expect_fetched(fetch());
}

TEST_F(FetchMnist, LeavesWholeDataAlone) {
  const fs::path there = folder_ / "data" / "mnist";
  const std::vector<std::uintmax_t> sizes{47'040'016, 60'008, 7'840'016, 10'008};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const fs::path file = there / fs::path(source_.files[i].name).stem();
    write_text(file, "");
    fs::resize_file(file, sizes[i]);
  }
  source_.mirrors = {"file:///nowhere/"};
  EXPECT_EQ(fetch(), there);
}

TEST_F(FetchMnist, ReplacesNothing) {
  write_text(folder_ / "data" / "mnist" / "mine.txt", "mine");
  EXPECT_TRUE(holds(message_of<BadInput>([&] { fetch(); }), {"not a complete MNIST", "move or delete"}));
  EXPECT_EQ(read_text(folder_ / "data" / "mnist" / "mine.txt"), "mine");
}

TEST_F(FetchMnist, RefusesASecondFetchToTheSameFolder) {
  fs::create_directories(folder_ / "data");
  const PartFile other(part(2));
  EXPECT_TRUE(holds(message_of<BadInput>([&] { fetch(); }), {part(2).string(), "another process"}));
}

}  // namespace
}  // namespace warpscope::fetch::fetch_mnist_test
