#include "gpu/files/safetensors.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "gpu/core/error.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::files::safetensors_test {
namespace {

namespace fs = std::filesystem;
using core::BadInput;
using tests::holds;
using tests::message_of;
using tests::read_text;
using tests::TemporaryFolder;

/// A file with this header and data.
std::string file_of(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string text(8, '\0');
  std::memcpy(text.data(), &length, 8);
  return text + header + data;
}

std::vector<NamedTensor> sample() {
  return {{"encoder.weight", {2, 1, 3}, {1.0F, -2.0F, 3.5F, 0.0F, 1e-40F, -0.0F}},
          {"a", {}, {42.0F}},
          {"empty", {0, 5}, {}},
          {"bias", {2}, {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::max()}}};
}

class Safetensors : public testing::Test {
 protected:
  std::string refusal(const std::string& contents) const {
    tests::write_text(path_, contents);
    const std::string message = message_of<BadInput>([&] { read_safetensors(path_); });
    EXPECT_TRUE(holds(message, {path_.string()}));
    EXPECT_EQ(message.find('\n'), std::string::npos);
    return message;
  }
  std::string refused_header(const std::string& header, std::size_t data_bytes = 8) const {
    return refusal(file_of(header, std::string(data_bytes, '\0')));
  }

  TemporaryFolder folder_;
  fs::path path_ = folder_ / "file.safetensors";
};

TEST_F(Safetensors, ReadsWhatItWrote) {
  const std::map<std::string, std::string> metadata{{"format", "pt"}, {"model", "autoencoder \"x\""}};
  write_safetensors(path_, sample(), metadata);
  std::map<std::string, std::string> read_metadata{{"stale", "x"}};
  const std::vector<NamedTensor> read = read_safetensors(path_, &read_metadata);
  EXPECT_EQ(read_metadata, metadata);
  const std::vector<NamedTensor> expected = sample();
  ASSERT_EQ(read.size(), expected.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].name, expected[i].name);
    EXPECT_EQ(read[i].shape, expected[i].shape);
    // As numbers, but for the sign of zero.
    ASSERT_EQ(read[i].values, expected[i].values);
    for (std::size_t j = 0; j < read[i].values.size(); ++j) {
      EXPECT_EQ(std::signbit(read[i].values[j]), std::signbit(expected[i].values[j]));
    }
  }
}

TEST_F(Safetensors, KeepsTheBitsOfNan) {
  NamedTensor tensor{"nan", {1}, {0.0F}};
  const std::uint32_t bits = 0x7fc12345;
  std::memcpy(tensor.values.data(), &bits, 4);
  write_safetensors(path_, {tensor});
  std::uint32_t read = 0;
  std::memcpy(&read, read_safetensors(path_).at(0).values.data(), 4);
  EXPECT_EQ(read, bits);
}

TEST_F(Safetensors, WritesTheDocumentedBytes) {
  write_safetensors(path_, {{"w", {2}, {1.0F, 2.0F}}});
  const std::string header = R"({"w":{"data_offsets":[0,8],"dtype":"F32","shape":[2]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(read_text(path_), file_of(padded, std::string("\0\0\x80\x3f\0\0\0\x40", 8)));
}

TEST_F(Safetensors, ReadsTensorsInTheOrderOfTheFile) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},)"
                             R"("b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}   )";
  tests::write_text(path_, file_of(header, std::string("\0\0\x80\x3f\0\0\0\x40", 8)));
  const std::vector<NamedTensor> read = read_safetensors(path_);
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].name, "b");
  EXPECT_EQ(read[0].values, std::vector<float>{1.0F});
  EXPECT_EQ(read[1].values, std::vector<float>{2.0F});
}

TEST_F(Safetensors, HoldsNoTensorsAtAll) {
  write_safetensors(path_, {});
  EXPECT_TRUE(read_safetensors(path_).empty());
}

TEST_F(Safetensors, RefusesFilesThatAreNotThere) {
  EXPECT_TRUE(
      holds(message_of<BadInput>([&] { read_safetensors(path_); }), {path_.string(), "No such file"}));
  EXPECT_TRUE(
      holds(message_of<BadInput>([&] { read_safetensors(folder_.path()); }), {"is a folder, not a file"}));
}

TEST_F(Safetensors, RefusesShortFilesAndWrongHeaderLengths) {
  EXPECT_TRUE(holds(refusal(""), {"it is empty"}));
  EXPECT_TRUE(holds(refusal("\1\2\3\4\5\6\7"), {"7 bytes"}));
  EXPECT_TRUE(holds(refusal(std::string("\x10\0\0\0\0\0\0\0{}", 10)), {"16 bytes", "10"}));
  EXPECT_TRUE(holds(refusal(std::string(20, '\xff')), {"18446744073709551615"}));
}

TEST_F(Safetensors, RefusesHeadersThatAreNotRight) {
  EXPECT_TRUE(holds(refused_header(" "), {"not JSON"}));
  EXPECT_TRUE(holds(refused_header("{"), {"not JSON"}));
  EXPECT_TRUE(holds(refused_header("{} x"), {"not JSON"}));
  EXPECT_TRUE(holds(refused_header("[]"), {"not a JSON object"}));
  EXPECT_TRUE(holds(refused_header("\xff\xfe"), {"not JSON"}));
  EXPECT_TRUE(holds(refused_header(R"({"a":1})"), {"\"a\""}));
  EXPECT_TRUE(holds(refused_header(R"({"a":{}})"), {"0 members", "\"a\""}));
  EXPECT_TRUE(holds(refused_header(std::string(100'000, '[')), {"nested"}));
  EXPECT_TRUE(holds(refused_header(R"({"__metadata__":{"a":1}})"), {"__metadata__", "\"a\""}));
  EXPECT_TRUE(holds(refused_header(R"({"__metadata__":"a"})"), {"__metadata__"}));
}

TEST_F(Safetensors, RefusesWrongTensors) {
  const auto entry = [](const char* dtype, const char* shape, const char* offsets) {
    return std::string(R"({"a":{"dtype":)") + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" +
           offsets + "}}";
  };
  tests::write_text(path_, file_of(entry("\"F32\"", "[2]", "[0,8]"), std::string(8, '\0')));
  EXPECT_EQ(read_safetensors(path_).size(), 1U);
  EXPECT_TRUE(
      holds(refused_header(entry("\"I16\"", "[4]", "[0,8]")), {"I16", "F32, F16, BF16 and F64 can be read"}));
  EXPECT_TRUE(holds(refused_header(entry("\"F16\"", "[2]", "[0,8]")), {"8 bytes", "shape"}));
  EXPECT_TRUE(holds(refused_header(entry("\"BOOL\"", "[9]", "[0,8]")), {"8 bytes", "shape"}));
  EXPECT_TRUE(holds(refused_header(entry("32", "[2]", "[0,8]")), {"dtype"}));
  EXPECT_TRUE(holds(refused_header(entry("\"F32\"", "2", "[0,8]")), {"not a list"}));
  EXPECT_TRUE(holds(refused_header(entry("\"F32\"", "[-2]", "[0,8]")), {"shape", "whole number"}));
  EXPECT_TRUE(holds(refused_header(entry("\"F32\"", "[2.0]", "[0,8]")), {"shape", "whole number"}));
  EXPECT_TRUE(holds(refused_header(entry("\"F32\"", "[9223372036854775808]", "[0,8]")), {"too large"}));
  EXPECT_TRUE(holds(refused_header(entry("\"F32\"", "[3]", "[0,8]")), {"8 bytes", "shape"}));
  EXPECT_TRUE(holds(refused_header(entry("\"F32\"", "[4294967296,4294967296]", "[0,0]"), 0), {"shape"}));
  EXPECT_TRUE(holds(refused_header(entry("\"F32\"", "[2]", "[0]")), {"pair"}));
  EXPECT_TRUE(
      holds(refused_header(entry("\"F32\"", "[2]", "[8,0]")), {"ends at byte 0, before it begins at 8"}));
  EXPECT_TRUE(holds(refused_header(entry("\"F32\"", "[4]", "[0,16]")), {"0 to 16 of 8"}));
  EXPECT_TRUE(holds(refused_header(entry("\"F32\"", "[1]", "[4,8]")), {"begins at byte 4"}));
  EXPECT_TRUE(holds(refused_header(entry("\"F32\"", "[1]", "[0,4]")), {"end at byte 4 of 8"}));
  EXPECT_TRUE(holds(refused_header(entry("\"F32\"", "[1]", "[0,7]"), 7), {"7 bytes"}));
}

/// A file with one tensor of `count` numbers of `dtype`, whose bytes are those of `stored`.
template <class Stored>
std::string file_of_numbers(const char* dtype, const std::vector<Stored>& stored) {
  const std::string header = fmt::format(R"({{"a":{{"dtype":"{}","shape":[{}],"data_offsets":[0,{}]}}}})",
                                         dtype, stored.size(), stored.size() * sizeof(Stored));
  return file_of(header,
                 std::string(reinterpret_cast<const char*>(stored.data()), stored.size() * sizeof(Stored)));
}

TEST_F(Safetensors, ReadsHalvesAndDoublesAsFloats) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  // One, the largest, the least normal and the least of all, a third, both zeros and infinities.
  tests::write_text(
      path_, file_of_numbers<std::uint16_t>("F16", {0x3c00, 0xbc00, 0x7bff, 0x0400, 0x0001, 0x83ff, 0x3555,
                                                    0x0000, 0x8000, 0x7c00, 0xfc00}));
  const std::vector<float> halves = read_safetensors(path_).at(0).values;
  EXPECT_EQ(halves, (std::vector<float>{1.0F, -1.0F, 65504.0F, 0x1p-14F, 0x1p-24F, -1023 * 0x1p-24F,
                                        0.333251953125F, 0.0F, -0.0F, kInfinity, -kInfinity}));
  EXPECT_TRUE(std::signbit(halves[8]));
  tests::write_text(path_, file_of_numbers<std::uint16_t>("F16", {0x7e01}));
  EXPECT_TRUE(std::isnan(read_safetensors(path_).at(0).values[0]));
  tests::write_text(path_, file_of_numbers<std::uint16_t>("BF16", {0x3f80, 0xc040, 0x0001, 0x7f80, 0x7f7f}));
  EXPECT_EQ(read_safetensors(path_).at(0).values,
            (std::vector<float>{1.0F, -3.0F, 0x1p-133F, kInfinity, 0x1.fep127F}));
  tests::write_text(path_, file_of_numbers<double>("F64", {0.1, -2.5, 1e300}));
  EXPECT_EQ(read_safetensors(path_).at(0).values, (std::vector<float>{0.1F, -2.5F, kInfinity}));
}

TEST_F(Safetensors, TensorsThatNobodyAsksForMayBeOfAnyKind) {
  tests::write_text(path_, file_of(R"({"n":{"dtype":"I64","shape":[],"data_offsets":[4,12]},)"
                                   R"("q":{"dtype":"Q3_NEW","shape":[5],"data_offsets":[12,14]},)"
                                   R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                                   std::string("\0\0\x80\x3f\7\0\0\0\0\0\0\0xx", 14)));
  const SafetensorsFile file(path_);
  ASSERT_EQ(file.entries().size(), 3U);
  EXPECT_EQ(file.read(file.entries()[0]), std::vector<float>{1.0F});
  EXPECT_FALSE(file.entries()[1].readable());
  EXPECT_TRUE(holds(message_of<BadInput>([&] { file.read(file.entries()[1]); }), {"\"n\"", "I64"}));
}

TEST_F(Safetensors, SaysWhatOtherFilesAre) {
  const std::pair<std::string, const char*> files[] = {
      {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "Git LFS pointer"},
      {std::string("PK\3\4\0\0\x8\x8\0\0", 10) + std::string(20, 'x') + "archive/data.pkl", "torch.save"},
      {std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15), "torch.save"},
      {std::string("\x80\x04\x95\0\0\0\0\0\0\0\0", 11), "pickle"},
      {std::string("PK\3\4\0\0\x8\x8\0\0", 10) + std::string(20, 'x') + "conv1.npy", "npz"},
      {std::string("PK\3\4\0\0\x8\x8\0\0", 10) + std::string(20, 'x') + "photo.png", "zip archive"},
      {"\n <!DOCTYPE html><html lang=en><title>Sign in</title>", "web page"},
      {"\x1f\x8b\x08 packed", "packed by gzip; unpack it"},
      {"\x89HDF\r\n\x1a\n12345678", "Keras"},
      {std::string("GGUF\3\0\0\0", 8), "GGUF"},
      {"\x08\x07\x12\x07pytorch\x1a\x05", "ONNX"},
      {"{\"metadata\": {}, \"weight_map\": {\"a\": \"model-00001-of-00002.safetensors\"}}", "single file"},
      {"{\"status\": \"finished\"}", "is JSON"},
      {"input = [28, 28, 1]\n", "is a text"},
      {std::string(4096, '\0'), "zeros"}};
  for (const auto& [contents, told] : files) {
    const std::string message = refusal(contents);
    EXPECT_TRUE(holds(message, {told}));
    EXPECT_LT(message.size(), 400U) << message;
  }
}

TEST_F(Safetensors, RefusesOverlapsGapsAndTwins) {
  const auto two = [](const char* second, const char* offsets) {
    return std::string(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},")") + second +
           R"(":{"dtype":"F32","shape":[1],"data_offsets":)" + offsets + "}}";
  };
  EXPECT_TRUE(holds(refused_header(two("b", "[0,4]"), 4), {"\"b\" begins at byte 0", "ends at 4"}));
  EXPECT_TRUE(holds(refused_header(two("b", "[8,12]"), 12), {"begins at byte 8", "ends at 4"}));
  EXPECT_TRUE(holds(refused_header(two("a", "[4,8]"), 8), {"\"a\" twice"}));
  EXPECT_TRUE(holds(refused_header(two("b", "[4,8]"), 7),
                    {"\"b\" lies at bytes 4 to 8 of 7; the file may be cut off: copy"}));
  EXPECT_TRUE(holds(refused_header(two("b\\u0000", "[0,4]"), 4), {"\"b\\x00\" begins at byte 0"}));
}

TEST_F(Safetensors, QuotesOnlyTheBeginningOfLongNames) {
  EXPECT_LT(refused_header("{\"" + std::string(50'000, 'n') + "\":1}").size(), 600U);
}

TEST_F(Safetensors, RefusesToWriteWhatCouldNotBeRead) {
  tests::write_text(path_, "old");
  const auto refused = [&](const std::vector<NamedTensor>& tensors) {
    return message_of<BadInput>([&] { write_safetensors(path_, tensors); });
  };
  EXPECT_TRUE(holds(refused({{"a", {2}, {1.0F}}}), {path_.string(), "\"a\"", "1 values"}));
  EXPECT_TRUE(holds(refused({{"a", {-1}, {1.0F}}}), {"\"a\""}));
  EXPECT_TRUE(holds(refused({{"a", {1}, {1.0F}}, {"a", {1}, {1.0F}}}), {"occurs twice"}));
  EXPECT_TRUE(holds(refused({{"__metadata__", {1}, {1.0F}}}), {"reserved"}));
  EXPECT_TRUE(holds(refused({{"\xff", {1}, {1.0F}}}), {"UTF-8"}));
  EXPECT_EQ(read_text(path_), "old");
}

TEST_F(Safetensors, KeepsTheOldFileWhenTheDiskIsFull) {
  const tests::SmallDisk disk(64 * 1024);
  if (!disk.mounted()) GTEST_SKIP() << "this process may not mount a small disk";
  write_safetensors(disk / "w.safetensors", sample());
  const std::string before = read_text(disk / "w.safetensors");
  const NamedTensor large{"large", {100'000}, std::vector<float>(100'000, 1.0F)};
  EXPECT_TRUE(holds(message_of<core::Error>([&] { write_safetensors(disk / "w.safetensors", {large}); }),
                    {(disk / "w.safetensors").string(), "No space left"}));
  EXPECT_EQ(read_text(disk / "w.safetensors"), before);
  EXPECT_EQ(tests::count_entries(disk.path()), 1);
}

/// Reads damaged contents: anything but a BadInput or tensors that fit their shapes is a failure. True if they
/// were refused.
bool read_damaged(const fs::path& path, const std::string& contents, const std::string& what) {
  // A new file each time: some file systems sync a file that is cut and written again.
  fs::remove(path);
  tests::write_text(path, contents);
  try {
    for (const NamedTensor& tensor : read_safetensors(path)) {
      std::int64_t elements = 1;
      for (const std::int64_t size : tensor.shape) elements *= size;
      EXPECT_EQ(tensor.values.size(), static_cast<std::size_t>(elements)) << what;
    }
  } catch (const BadInput&) {
    return true;
  }
  return false;
}

TEST_F(Safetensors, SurvivesEveryDamagedHeaderByte) {
  write_safetensors(path_, sample(), {{"format", "pt"}});
  const std::string whole = read_text(path_);
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, whole.data(), 8);
  std::size_t refused = 0, taken = 0;
  for (std::size_t at = 0; at < 8 + header_bytes; ++at) {
    for (const int flip : {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      const std::string what = "byte " + std::to_string(at) + " flipped by " + std::to_string(flip);
      (read_damaged(path_, damaged, what) ? refused : taken) += 1;
    }
  }
  EXPECT_GT(refused, taken) << "most of the header is marks, shapes and offsets";
  EXPECT_GT(taken, 0U) << "another letter of a name is no damage";
}

TEST_F(Safetensors, RefusesEveryTruncation) {
  write_safetensors(path_, sample());
  const std::string whole = read_text(path_);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    fs::remove(path_);
    tests::write_text(path_, whole.substr(0, size));
    ASSERT_THROW(read_safetensors(path_), BadInput) << size;
  }
  tests::write_text(path_, whole + "x");
  EXPECT_THROW(read_safetensors(path_), BadInput);
}

/// The file with its seal made right again by other means: sha256sum of a copy with zeros for the digits.
std::string sealed_by_hand(const fs::path& folder, std::string text) {
  const std::size_t at = text.find("\"warpscope_sha256\":\"") + 20;
  text.replace(at, 64, 64, '0');
  tests::write_text(folder / "zeros", text);
  const std::string command = "sha256sum '" + (folder / "zeros").string() + "'";
  FILE* pipe = ::popen(command.c_str(), "r");
  std::string sum(64, ' ');
  EXPECT_EQ(std::fread(sum.data(), 1, 64, pipe), 64U);
  ::pclose(pipe);
  return text.replace(at, 64, sum);
}

TEST_F(Safetensors, SealsAreTheSha256OfTheFileWithZeros) {
  write_sealed_safetensors(path_, sample(), {{"model", "a"}, {"text", R"({"warpscope_sha256":"0"})"}});
  const std::string text = read_text(path_);
  EXPECT_EQ(sealed_by_hand(folder_.path(), text), text);
}

TEST_F(Safetensors, ReadsWhatItSealed) {
  const std::map<std::string, std::string> metadata{{"model", "a"}, {"zz", R"(x","warpscope_sha256":"y)"}};
  write_sealed_safetensors(path_, sample(), metadata);
  std::map<std::string, std::string> read;
  EXPECT_EQ(read_safetensors(path_, &read, Seal::required).size(), sample().size());
  EXPECT_EQ(read, metadata);
  write_sealed_safetensors(path_, {});
  EXPECT_TRUE(read_safetensors(path_).empty());
}

TEST_F(Safetensors, RefusesBrokenAndMissingSeals) {
  const auto refused = [&](Seal wanted) {
    return message_of<BadInput>([&] { read_safetensors(path_, nullptr, wanted); });
  };
  write_safetensors(path_, sample());
  EXPECT_TRUE(holds(refused(Seal::required), {path_.string(), "no SHA-256"}));
  // Others' metadata of such a name are no seal.
  tests::write_text(path_, file_of(R"({"__metadata__":{"warpscope_sha256":"00"}})", ""));
  EXPECT_TRUE(holds(refused(Seal::required), {path_.string(), "no SHA-256"}));
  EXPECT_TRUE(read_safetensors(path_).empty());
  write_sealed_safetensors(path_, sample());
  std::string text = read_text(path_);
  text.back() = 'x';
  tests::write_text(path_, text);
  EXPECT_TRUE(holds(refused(Seal::required), {path_.string(), "damaged"}));
  EXPECT_TRUE(holds(refused(Seal::optional), {path_.string(), "damaged"}));
}

TEST_F(Safetensors, DoesNotSealWhatWouldHideTheSeal) {
  for (const char* key : {"warpscope_sha256", "x\"warpscope_sha256"}) {
    EXPECT_TRUE(holds(message_of<BadInput>([&] {
                        write_sealed_safetensors(path_, {}, {{key, "x"}});
                      }),
                      {path_.string(), key}));
  }
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(Safetensors, MetadataAreReadWithoutTheRest) {
  write_sealed_safetensors(path_, sample(), {{"model", "tiny"}});
  EXPECT_EQ(metadata_of(path_).at("model"), "tiny");
  EXPECT_TRUE(holds(message_of<BadInput>([&] { metadata_of(folder_ / "none"); }), {"none"}));
}

TEST_F(Safetensors, AreWrittenNoFurtherThanAPieceOnceNobodyWaitsForThem) {
  constexpr std::size_t kFloats = std::size_t{4} << 20;
  const std::vector<NamedTensor> large{
      {"w", {static_cast<std::int64_t>(kFloats)}, std::vector<float>(kFloats)}};
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  std::stop_source stop;
  std::thread writer([&] {
    EXPECT_THROW(write_sealed_safetensors(path_, large, {}, {.stop = stop.get_token(), .lasts = false}),
                 Stopped);
  });
  std::size_t bytes = 0;
  {
    std::ifstream pipe(path_, std::ios::binary);
    std::vector<char> part(1 << 16);
    while (pipe.read(part.data(), static_cast<std::streamsize>(part.size())) || pipe.gcount() > 0) {
      bytes += static_cast<std::size_t>(pipe.gcount());
      stop.request_stop();
    }
  }
  writer.join();
  EXPECT_LT(bytes, kFloats * sizeof(float) / 2);
}

}  // namespace
}  // namespace warpscope::files::safetensors_test
