#include "app/fetch/fetch.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include "app/fetch/download.h"
#include "tests/core/temporary_folder.h"
#include "tests/fetch/http_server.h"

namespace warpscope::fetch::fetch_test {
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

struct Member {
  std::string name;
  std::string text;
  std::string symlink = {};
  std::string hardlink = {};
  unsigned type = AE_IFREG;
};

/// A tar.gz file as text.
std::string make_archive(const std::vector<Member>& members) {
  std::string result(std::size_t{1} << 20, '\0');
  std::size_t used = 0;
  archive* out = archive_write_new();
  archive_write_set_format_pax_restricted(out);
  archive_write_add_filter_gzip(out);
  archive_write_set_bytes_per_block(out, 0);
  archive_write_open_memory(out, result.data(), result.size(), &used);
  for (const Member& member : members) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, member.name.c_str());
    archive_entry_set_filetype(entry, member.symlink.empty() ? member.type : unsigned{AE_IFLNK});
    archive_entry_set_perm(entry, 0755);
    archive_entry_set_size(entry, static_cast<la_int64_t>(member.text.size()));
    if (!member.symlink.empty()) archive_entry_set_symlink(entry, member.symlink.c_str());
    if (!member.hardlink.empty()) archive_entry_set_hardlink(entry, member.hardlink.c_str());
    archive_write_header(out, entry);
    archive_write_data(out, member.text.data(), member.text.size());
    archive_entry_free(entry);
  }
  archive_write_close(out);
  archive_write_free(out);
  result.resize(used);
  return result;
}

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

/// Text that gzip cannot make small.
std::string noise(std::size_t bytes) {
  std::string text;
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < bytes; ++i) {
    state = state * 1'664'525 + 1'013'904'223;
    text += static_cast<char>(state >> 24);
  }
  return text;
}

/// A folder to fetch to, an archive, and a server once start() was called.
class Fetch : public testing::Test {
 protected:
  void start(HttpServer::Behaviour behaviour = {}) {
    server_.emplace(archive_, behaviour);
    serve(server_->url(""));
  }
  void serve(const std::string& mirror) {
    source_.mirrors = {mirror};
    source_.files = {{"small.tar.gz", md5(archive_)}};
  }
  std::string url() const { return source_.mirrors[0] + source_.files[0].name; }
  fs::path fetch(const Callback& progress = {}) {
    return fetch_data_set(source_, folder_ / "data", progress);
  }
  fs::path part() const { return folder_ / "data" / "small.tar.gz.part"; }
  /// Nothing but `entries` entries are left in the folder.
  void expect_entries(std::ptrdiff_t entries) const { EXPECT_EQ(count_entries(folder_ / "data"), entries); }

  // A proxy of the machine would not find 127.0.0.1.
  tests::Variable no_proxy_{"no_proxy", "127.0.0.1"};
  TemporaryFolder folder_;
  std::string big_ = noise(300'000);
  std::string archive_ = make_archive({{.name = "cifar-10-batches-bin/", .text = "", .type = AE_IFDIR},
                                       {.name = "cifar-10-batches-bin/a.bin", .text = big_},
                                       {.name = "./cifar-10-batches-bin/sub/b.txt", .text = "hello"},
                                       {.name = "other/c.txt", .text = "dropped"}});
  std::optional<HttpServer> server_;
  Source source_ = find_source("cifar10");
};

TEST_F(Fetch, BringsTheWholeFolder) {
  start();
  std::vector<Progress> seen;
  const fs::path folder = fetch([&](const Progress& progress) {
    seen.push_back(progress);
    return true;
  });
  EXPECT_EQ(folder, folder_ / "data" / "cifar-10-batches-bin");
  EXPECT_EQ(read_text(folder / "a.bin"), big_);
  EXPECT_EQ(read_text(folder / "sub" / "b.txt"), "hello");
  expect_entries(1);
  ASSERT_FALSE(seen.empty());
  const auto saw = [&](Phase phase) {
    return std::any_of(seen.begin(), seen.end(), [=](const Progress& p) { return p.phase == phase; });
  };
  EXPECT_TRUE(saw(Phase::download));
  EXPECT_TRUE(saw(Phase::check));
  EXPECT_TRUE(saw(Phase::unpack));
  for (const Progress& progress : seen) {
    EXPECT_LE(progress.done_bytes, static_cast<std::int64_t>(archive_.size()));
  }
}

TEST_F(Fetch, ReadsFileAddresses) {
  tests::write_text(folder_ / "small.tar.gz", archive_);
  serve("file://" + folder_.path().string() + "/");
  tests::write_text(part(), archive_.substr(0, 1234));
  EXPECT_EQ(read_text(fetch() / "a.bin"), big_);
}

TEST_F(Fetch, ResumesAPartialFile) {
  start();
  tests::write_text(part(), archive_.substr(0, 100'000));
  EXPECT_EQ(read_text(fetch() / "a.bin"), big_);
  EXPECT_EQ(server_->ranges(), std::vector<std::string>{"bytes=100000-"});
}

TEST_F(Fetch, StartsAgainIfTheServerCannotResume) {
  start({.ranges = false});
  tests::write_text(part(), archive_.substr(0, 100'000));
  EXPECT_EQ(read_text(fetch() / "a.bin"), big_);
  const std::vector<std::string> expected{"bytes=100000-", ""};
  EXPECT_EQ(server_->ranges(), expected);
}

TEST_F(Fetch, StartsAgainIfThePartIsLongerThanTheFile) {
  start();
  tests::write_text(part(), archive_ + "more");
  EXPECT_EQ(read_text(fetch() / "a.bin"), big_);
  EXPECT_EQ(server_->ranges().size(), 2U);
}

TEST_F(Fetch, DownloadsNothingIfThePartIsWhole) {
  start();
  tests::write_text(part(), archive_);
  EXPECT_EQ(read_text(fetch() / "a.bin"), big_);
  EXPECT_TRUE(server_->ranges().empty());
}

TEST_F(Fetch, KeepsWhatCameBeforeTheConnectionBroke) {
  start({.cut_after = 50'000});
  EXPECT_TRUE(holds(message_of<Error>([&] { fetch(); }), {url(), "50000 bytes", "fetch again"}));
  EXPECT_EQ(read_text(part()), archive_.substr(0, 50'000));
  expect_entries(1);
  start();
  EXPECT_EQ(read_text(fetch() / "a.bin"), big_);
  EXPECT_EQ(server_->ranges(), std::vector<std::string>{"bytes=50000-"});
}

TEST_F(Fetch, RemovesAFileWithTheWrongChecksum) {
  start();
  source_.files[0].md5 = "00000000000000000000000000000000";
  EXPECT_TRUE(
      holds(message_of<Error>([&] { fetch(); }), {url(), md5(archive_), source_.files[0].md5, "removed"}));
  expect_entries(0);
}

TEST_F(Fetch, NamesTheHttpStatus) {
  start({.status = 404});
  EXPECT_TRUE(holds(message_of<Error>([&] { fetch(); }), {url(), "404"}));
  expect_entries(0);
  start({.status = 503});
  EXPECT_TRUE(holds(message_of<Error>([&] { fetch(); }), {"503"}));
}

TEST_F(Fetch, SaysThatThereIsNoNetwork) {
  start();
  server_.reset();
  EXPECT_TRUE(holds(message_of<Error>([&] { fetch(); }), {"cannot reach", url(), "network"}));
  expect_entries(0);
}

TEST_F(Fetch, RefusesOtherKindsOfAddresses) {
  serve("ftp://127.0.0.1/");
  EXPECT_TRUE(holds(message_of<BadInput>([&] { fetch(); }), {"ftp://127.0.0.1", "http"}));
  serve("http://[");
  EXPECT_THROW(fetch(), BadInput);
}

TEST_F(Fetch, CanBeCancelledInEveryPhase) {
  for (const Phase phase : {Phase::download, Phase::check, Phase::unpack}) {
    start();
    EXPECT_THROW(fetch([=](const Progress& progress) { return progress.phase != phase; }), Cancelled);
    expect_entries(phase == Phase::download ? 0 : 1);
  }
  EXPECT_EQ(read_text(fetch() / "a.bin"), big_);
}

TEST_F(Fetch, PassesExceptionsOfTheCallbackOn) {
  start();
  EXPECT_THROW(fetch([](const Progress&) -> bool { throw std::domain_error("mine"); }), std::domain_error);
}

TEST_F(Fetch, RefusesArchivesThatLeaveTheFolder) {
  const fs::path outside = folder_ / "outside.txt";
  const std::vector<std::pair<Member, const char*>> cases{
      {{.name = "cifar-10-batches-bin/../../../outside.txt", .text = "x"}, "leads out"},
      {{.name = "../outside.txt", .text = "x"}, "leads out"},
      {{.name = "..", .text = "", .type = AE_IFDIR}, "leads out"},
      {{.name = outside.string(), .text = "x"}, "absolute"},
      {{.name = "cifar-10-batches-bin/link", .text = "", .symlink = "/etc/passwd"}, "is a link"},
      {{.name = "cifar-10-batches-bin/hard", .text = "", .hardlink = "cifar-10-batches-bin/a.bin"},
       "is a link"},
      {{.name = "cifar-10-batches-bin/pipe", .text = "", .type = AE_IFIFO}, "neither a file nor a folder"},
  };
  for (const auto& [member, why] : cases) {
    archive_ = make_archive({{.name = "cifar-10-batches-bin/a.bin", .text = "a"}, member});
    start();
    EXPECT_TRUE(holds(message_of<Error>([&] { fetch(); }), {"refused to unpack", member.name, why}));
    EXPECT_FALSE(fs::exists(outside));
    EXPECT_FALSE(fs::exists(folder_ / "data" / "cifar-10-batches-bin"));
    expect_entries(1);
    fs::remove(part());
  }
}

TEST_F(Fetch, RefusesAFileThatComesTwice) {
  archive_ = make_archive({{.name = "cifar-10-batches-bin/a.bin", .text = "a"},
                           {.name = "cifar-10-batches-bin/a.bin", .text = "b"}});
  start();
  EXPECT_TRUE(holds(message_of<Error>([&] { fetch(); }), {"a.bin", "exists"}));
}

TEST_F(Fetch, RefusesArchivesWithoutTheFolder) {
  archive_ = make_archive({{.name = "something/a.bin", .text = "a"}});
  start();
  EXPECT_TRUE(holds(message_of<Error>([&] { fetch(); }), {"no folder cifar-10-batches-bin"}));
}

TEST_F(Fetch, RefusesWhatIsNoArchive) {
  archive_ = noise(10'000);
  start();
  EXPECT_TRUE(holds(message_of<Error>([&] { fetch(); }), {"cannot unpack"}));
  expect_entries(1);
}

TEST_F(Fetch, RefusesADamagedArchive) {
  archive_.resize(archive_.size() / 2);
  start();
  EXPECT_TRUE(holds(message_of<Error>([&] { fetch(); }), {"cannot unpack"}));
  EXPECT_FALSE(fs::exists(folder_ / "data" / "cifar-10-batches-bin"));
}

TEST_F(Fetch, LeavesWholeDataAlone) {
  const fs::path there = folder_ / "data" / "cifar-10-batches-bin";
  fs::create_directories(there);
  for (const char* name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                           "data_batch_5.bin", "test_batch.bin"}) {
    tests::write_text(there / name, "");
    fs::resize_file(there / name, 30'730'000);
  }
  start();
  EXPECT_EQ(fetch(), there);
  EXPECT_TRUE(server_->ranges().empty());
}

TEST_F(Fetch, ReplacesNothing) {
  start();
  tests::write_text(folder_ / "data" / "cifar-10-batches-bin" / "mine.txt", "mine");
  EXPECT_TRUE(holds(message_of<BadInput>([&] { fetch(); }), {"cifar-10-batches-bin", "move or delete"}));
  EXPECT_EQ(read_text(folder_ / "data" / "cifar-10-batches-bin" / "mine.txt"), "mine");
  EXPECT_TRUE(server_->ranges().empty());
}

TEST_F(Fetch, RefusesASecondFetchToTheSameFolder) {
  start();
  fs::create_directories(folder_ / "data");
  const PartFile other(part());
  EXPECT_TRUE(holds(message_of<BadInput>([&] { fetch(); }), {part().string(), "another process"}));
}

TEST_F(Fetch, RefusesAFolderItMayNotWrite) {
  start();
  fs::create_directories(folder_ / "data");
  fs::permissions(folder_.path(), fs::perms(0755));
  fs::permissions(folder_ / "data", fs::perms(0555));
  const tests::OrdinaryUser user;
  EXPECT_TRUE(
      holds(message_of<BadInput>([&] { fetch(); }), {(folder_ / "data").string(), "ermission denied"}));
  EXPECT_TRUE(holds(message_of<BadInput>([&] { fetch_data_set(source_, folder_ / "data" / "new"); }),
                    {(folder_ / "data" / "new").string(), "ermission denied"}));
}

TEST_F(Fetch, SaysThatTheDiskIsFullAndResumesLater) {
  const tests::SmallDisk disk(200 * 1024);
  if (!disk.mounted()) GTEST_SKIP() << "this process may not mount a small disk";
  start();
  EXPECT_TRUE(holds(message_of<Error>([&] { fetch_data_set(source_, disk.path()); }),
                    {(disk / "small.tar.gz.part").string(), "No space left", "kept"}));
  const auto came = static_cast<std::size_t>(fs::file_size(disk / "small.tar.gz.part"));
  EXPECT_GT(came, 100'000U);
  EXPECT_EQ(read_text(disk / "small.tar.gz.part"), archive_.substr(0, came));
}

TEST_F(Fetch, SaysThatTheDiskIsFullWhileUnpacking) {
  const tests::SmallDisk disk(450 * 1024);
  if (!disk.mounted()) GTEST_SKIP() << "this process may not mount a small disk";
  start();
  EXPECT_TRUE(
      holds(message_of<Error>([&] { fetch_data_set(source_, disk.path()); }), {"a.bin", "No space left"}));
  EXPECT_EQ(count_entries(disk.path()), 1);
  EXPECT_EQ(read_text(disk / "small.tar.gz.part"), archive_);
}

}  // namespace
}  // namespace warpscope::fetch::fetch_test
