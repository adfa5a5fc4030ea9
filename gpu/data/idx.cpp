#include "gpu/data/idx.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "gpu/files/file_kind.h"

namespace warpscope::data {
namespace {

using files::grouped;
using files::InputFile;

constexpr std::uint32_t kMagic = 0x0800;  // bytes; the number of dimensions is added to it
constexpr std::int64_t kMostValues = 10'000'000'000;
constexpr std::array<std::uint8_t, 2> kGzipMagic{0x1f, 0x8b};

/// The unpacked bytes of a file, one after the other.
class Bytes {
 public:
  virtual ~Bytes() = default;
  /// Fills `bytes` from the front and returns how many there were: fewer than asked for only at the end.
  virtual std::size_t read(std::span<std::uint8_t> bytes) = 0;
  /// No fewer than can still come.
  virtual std::int64_t most_left() const = 0;
};

class PlainBytes : public Bytes {
 public:
  explicit PlainBytes(const InputFile& file) : file_(file) {}
  std::size_t read(std::span<std::uint8_t> bytes) override {
    const auto count = static_cast<std::size_t>(
        std::min<std::int64_t>(most_left(), static_cast<std::int64_t>(bytes.size())));
    file_.read(at_, bytes.first(count));
    at_ += static_cast<std::int64_t>(count);
    return count;
  }
  std::int64_t most_left() const override { return file_.size() - at_; }
  const InputFile& file() const { return file_; }

 private:
  const InputFile& file_;
  std::int64_t at_ = 0;
};

/// What the members of a gzip file hold, one after the other (RFC 1952, section 2.2). Zero bytes behind the last one
/// fill up. Throws BadInput where it is damaged, cut off or followed by something else.
class GzipBytes final : public Bytes {
 public:
  GzipBytes(const InputFile& file, const std::string& remedy) : packed_(file), remedy_(remedy) {
    constexpr int kGzipAlone = 16;
    if (inflateInit2(&stream_, MAX_WBITS + kGzipAlone) != Z_OK) {
      throw core::OutOfMemory(fmt::format("no memory left to unpack {}", file.path().string()));
    }
  }
  GzipBytes(const GzipBytes&) = delete;
  GzipBytes& operator=(const GzipBytes&) = delete;
  ~GzipBytes() override { inflateEnd(&stream_); }

  std::size_t read(std::span<std::uint8_t> bytes) override {
    std::size_t count = 0;
    while (count < bytes.size() && !ended_) count += inflate_some(bytes.subspan(count));
    return count;
  }

  std::int64_t most_left() const override {
    constexpr std::int64_t kMostRatio = 1032;                // of deflate: 258 bytes for two bits
    constexpr std::int64_t kWindow = std::int64_t{1} << 16;  // what is unpacked but not handed out yet
    return ended_ ? 0 : kMostRatio * (packed_.most_left() + stream_.avail_in) + kWindow;
  }

 private:
  void fill() {
    if (stream_.avail_in > 0) return;
    stream_.next_in = block_.data();
    stream_.avail_in = static_cast<uInt>(packed_.read(block_));
  }

  void begin_next_member() {
    bool fills_up = false;
    for (fill(); stream_.avail_in > 0 && *stream_.next_in == 0; fill()) {
      fills_up = true;
      ++stream_.next_in;
      --stream_.avail_in;
    }
    ended_ = stream_.avail_in == 0;
    if (ended_) return;
    if (fills_up || *stream_.next_in != kGzipMagic[0]) refuse("has bytes after the end of its gzip data");
    inflateReset(&stream_);
  }

  std::size_t inflate_some(std::span<std::uint8_t> bytes) {
    fill();
    const auto room = static_cast<uInt>(std::min<std::size_t>(bytes.size(), std::size_t{1} << 20));
    stream_.next_out = bytes.data();
    stream_.avail_out = room;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status == Z_MEM_ERROR) throw core::OutOfMemory("no memory left to unpack gzip");
    if (status == Z_STREAM_END) {
      begin_next_member();
    } else if (status == Z_BUF_ERROR) {
      refuse("is truncated: its gzip data end too early");
    } else if (status != Z_OK) {
      refuse(fmt::format("is damaged: {}", stream_.msg != nullptr ? stream_.msg : "it is not gzip"));
    }
    return room - stream_.avail_out;
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw core::BadInput(fmt::format("{} {}; {}", packed_.file().path().string(), what, remedy_));
  }

  PlainBytes packed_;
  const std::string& remedy_;
  std::array<std::uint8_t, 65'536> block_;
  z_stream stream_{};
  bool ended_ = false;
};

std::unique_ptr<Bytes> unpacked(const InputFile& file, const std::string& remedy) {
  if (is_gzip(file)) return std::make_unique<GzipBytes>(file, remedy);
  return std::make_unique<PlainBytes>(file);
}

/// Complaints about one file.
class Refusal {
 public:
  Refusal(const InputFile& file, const std::string& remedy) : file_(file), remedy_(remedy) {}
  [[noreturn]] void operator()(const std::string& what) const {
    throw core::BadInput(fmt::format("{} {}; {}", file_.path().string(), what, remedy_));
  }
  /// Where it begins as a file of another kind does.
  void if_other_kind() const {
    const files::FileKind* const kind = files::file_kind(file_.read_up_to(0, files::kKindBytes));
    if (kind == nullptr || is_gzip(file_)) return;
    throw core::BadInput(fmt::format("{} is {}, not an IDX file; {}", file_.path().string(), kind->name,
                                     kind->remedy.empty() ? remedy_ : kind->remedy));
  }

 private:
  const InputFile& file_;
  const std::string& remedy_;
};

std::uint32_t read_number(Bytes& bytes, const Refusal& refuse) {
  std::array<std::uint8_t, 4> number{};
  if (bytes.read(number) < number.size()) refuse("is truncated: it ends within its header");
  std::uint32_t value = 0;
  for (const std::uint8_t byte : number) value = value << 8 | byte;
  return value;
}

/// What an IDX file that begins with this number holds in place of bytes; "" if it is none.
std::string_view other_values(std::uint32_t magic) {
  constexpr std::array<std::pair<std::uint32_t, std::string_view>, 5> kTypes{{{0x09, "signed bytes"},
                                                                              {0x0B, "16-bit numbers"},
                                                                              {0x0C, "32-bit numbers"},
                                                                              {0x0D, "floats"},
                                                                              {0x0E, "doubles"}}};
  const auto* const found =
      std::ranges::find(kTypes, magic >> 8, &std::pair<std::uint32_t, std::string_view>::first);
  return found == kTypes.end() ? "" : found->second;
}

/// The number of values, or a complaint.
std::int64_t read_sizes(Bytes& bytes, int dimensions, const Refusal& refuse,
                        std::vector<std::int64_t>& sizes) {
  const std::uint32_t magic = read_number(bytes, refuse);
  const std::uint32_t expected = kMagic + static_cast<std::uint32_t>(dimensions);
  if (magic != expected) {
    refuse.if_other_kind();
    if (const std::string_view values = other_values(magic); !values.empty())
      refuse(fmt::format("is an IDX file of {}, and only one of bytes is read", values));
    const bool swapped = magic == (dimensions == 1 ? kMagic + 3 : kMagic + 1);
    refuse(fmt::format("begins with the number {} instead of {}, so it is no IDX file of bytes in {}{}",
                       magic, expected,
                       dimensions == 1 ? "one dimension" : fmt::format("{} dimensions", dimensions),
                       !swapped          ? ""
                       : dimensions == 1 ? " but seems to hold images"
                                         : " but seems to hold labels"));
  }
  for (int i = 0; i < dimensions; ++i) sizes.push_back(read_number(bytes, refuse));
  const auto told = [&] { return fmt::format("says in its header that it is {}", fmt::join(sizes, " x ")); };
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) {
    if (size == 0) refuse(told() + " values large, which is empty");
    if (size > kMostValues / count)
      refuse(fmt::format("{} values large, which is more than {}", told(), grouped(kMostValues)));
    count *= size;
  }
  return count;
}

}  // namespace

bool is_gzip(const InputFile& file) {
  if (file.size() < static_cast<std::int64_t>(kGzipMagic.size())) return false;
  std::array<std::uint8_t, 2> first{};
  file.read(0, first);
  return first == kGzipMagic;
}

Idx read_idx(const std::filesystem::path& path, int dimensions, const std::string& remedy) {
  const InputFile file(path);
  const std::unique_ptr<Bytes> bytes = unpacked(file, remedy);
  const Refusal refuse(file, remedy);
  Idx idx;
  const std::int64_t count = read_sizes(*bytes, dimensions, refuse, idx.sizes);
  // Before memory is taken: the header may be wrong.
  if (bytes->most_left() < count) {
    refuse(fmt::format("is truncated: it is too short for the {} values that its header promises",
                       grouped(count)));
  }
  idx.values.resize(static_cast<std::size_t>(count));
  const auto got = static_cast<std::int64_t>(bytes->read(idx.values));
  if (got < count) {
    refuse(fmt::format("is truncated: it has {} values instead of {}", grouped(got), grouped(count)));
  }
  std::array<std::uint8_t, 1> more{};
  if (bytes->read(more) != 0) {
    refuse(
        fmt::format("is too long: it goes on after the {} values that its header promises", grouped(count)));
  }
  return idx;
}

int idx_dimensions(const std::filesystem::path& path) {
  constexpr std::uint32_t kMostDimensions = 8;
  const std::string remedy;
  try {
    const InputFile file(path);
    const std::uint32_t magic = read_number(*unpacked(file, remedy), Refusal(file, remedy));
    return magic > kMagic && magic <= kMagic + kMostDimensions ? static_cast<int>(magic - kMagic) : 0;
  } catch (const core::Error&) {
    return 0;
  }
}

std::vector<std::int64_t> peek_idx(const std::filesystem::path& path) {
  const int dimensions = idx_dimensions(path);
  if (dimensions == 0) return {};
  const std::string remedy;
  std::vector<std::int64_t> sizes;
  try {
    const InputFile file(path);
    const std::unique_ptr<Bytes> bytes = unpacked(file, remedy);
    read_sizes(*bytes, dimensions, Refusal(file, remedy), sizes);
  } catch (const core::Error&) {
    return {};
  }
  return sizes;
}

}  // namespace warpscope::data
