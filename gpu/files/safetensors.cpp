#include "gpu/files/safetensors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/atomic_file.h"
#include "gpu/files/file_kind.h"
#include "gpu/files/sha256.h"
#include "gpu/files/utf8.h"

namespace warpscope::files {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// What else is brought where safetensors are wanted.

using std::string_view_literals::operator""sv;

constexpr const char* kByTorch =
    "was written by torch.save; safetensors.torch.save_file(torch.load(FILE, weights_only=True), NEW_FILE) "
    "makes of its "
    "state_dict a file that can be read";
constexpr const char* kByPickle =
    "was written by Python's pickle; safetensors.torch.save_file or safetensors.numpy.save_file writes what "
    "can be read";

struct Kind {
  std::size_t at = 0;
  std::string_view begins;
  const char* told = nullptr;
};

/// Kinds of weights. Longer beginnings stand before shorter ones of the same bytes.
constexpr Kind kKinds[] = {
    {0, "# xet version"sv, "is a Xet pointer, not the file that it stands for; git xet brings that"},
    {0, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv, kByTorch},
    {0, "\x80\x02"sv, kByPickle},
    {0, "\x80\x03"sv, kByPickle},
    {0, "\x80\x04"sv, kByPickle},
    {0, "\x80\x05"sv, kByPickle},
    {0, "\x89HDF\r\n\x1a\n"sv,
     "is an HDF5 file, as Keras writes them; save its arrays under PyTorch's names with "
     "safetensors.numpy.save_file"},
    {0, "GGUF"sv,
     "is a GGUF file, whose numbers are quantized; the safetensors file that it was made from is needed"},
    {0, "\x93NUMPY"sv, "is one array of NumPy; safetensors.numpy.save_file writes arrays under names"},
    {4, "TFL3"sv, "is a TensorFlow Lite model; save its arrays with safetensors.numpy.save_file"},
};

bool holds(std::string_view bytes, std::string_view part) {
  return bytes.find(part) != std::string_view::npos;
}

/// A zip archive of weights, by the first name in it; "" of another.
std::string zip_kind(std::string_view bytes) {
  const std::string_view begin = bytes.substr(0, 160);
  if (holds(begin, "data.pkl") || holds(begin, ".format_version") || holds(begin, "/byteorder"))
    return kByTorch;
  if (holds(begin, ".npy")) {
    return "holds arrays of NumPy (.npz); safetensors.numpy.save_file(dict(numpy.load(FILE)), NEW_FILE) "
           "makes a file of "
           "them that can be read";
  }
  if (holds(begin, "metadata.json") || holds(begin, "config.json")) {
    return "is a zip archive, as Keras writes its models; save its arrays under PyTorch's names with "
           "safetensors.numpy.save_file";
  }
  return "";
}

/// A protocol buffer that begins with ONNX's version, a small number, behind which its maker's name or another of its
/// first fields follows. Source: onnx.proto, message ModelProto.
bool is_onnx(std::string_view bytes) {
  constexpr std::string_view kNextFields = "\x12\x1a\x22\x32\x3a\x42";
  return bytes.size() > 3 && bytes[0] == 0x08 && bytes[1] > 0 && bytes[1] < 0x20 &&
         kNextFields.find(bytes[2]) != std::string_view::npos;
}

/// UTF-8 without control characters; the last character may be cut.
bool is_text(std::string_view bytes) {
  const std::vector<char32_t> points = decode_utf8(bytes);
  const auto fits = [](char32_t c) { return c >= 0x20 ? c != 0x7f : c == '\t' || c == '\n' || c == '\r'; };
  return std::ranges::all_of(points, fits) && std::ranges::count(points, kBroken) <= 1;
}

std::string text_kind(std::string_view text) {
  if (text.starts_with('<')) return "is a web page or XML; download the file itself";
  if (text.starts_with('{') && holds(text, "weight_map")) {
    return "lists the files that hold the weights; only weights in a single file can be read";
  }
  return text.starts_with('{') || text.starts_with('[') ? "is JSON" : "is a text";
}

/// What a file is that begins with `bytes` (kKindBytes of them), and what to do, as a sentence about it goes on: "is a
/// Git
/// LFS pointer in place of the file; bring the file itself by git lfs pull". "" if nobody knows.
std::string told_instead_of_safetensors(std::string_view bytes) {
  if (bytes.empty()) return "is empty; copy or download it again";
  const auto* const found = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& kind) {
    return bytes.size() >= kind.at && bytes.substr(kind.at).starts_with(kind.begins);
  });
  if (found != std::end(kKinds)) return found->told;
  if (bytes.starts_with("PK\x03\x04")) {
    if (std::string zip = zip_kind(bytes); !zip.empty()) return zip;
  }
  const std::string_view text =
      bytes.substr(std::min(bytes.find_first_not_of("\xef\xbb\xbf \t\r\n"), bytes.size()));
  for (const std::string_view begin : {bytes, text}) {
    const FileKind* const kind = file_kind(begin);
    if (kind == nullptr) continue;
    const bool helps = !kind->remedy.empty() && !holds(kind->remedy, "PNG");  // which is of no use to weights
    return fmt::format("is {}{}{}", kind->name, helps ? "; " : "", helps ? kind->remedy : "");
  }
  if (is_onnx(bytes)) {
    return "seems to be an ONNX model; save its initializers under PyTorch's names with "
           "safetensors.numpy.save_file";
  }
  if (is_text(bytes)) return text_kind(text);
  if (bytes.find_first_not_of('\0') == std::string_view::npos) {
    return "begins with zeros, as files do that were not copied to their end; copy or download it again";
  }
  return "";
}

static_assert(std::endian::native == std::endian::little, "tensors are copied as they are in memory");

constexpr std::uint64_t kLengthBytes = 8;
// The limit of the format's reference implementation: a larger header is an attack or damage.
constexpr std::uint64_t kMostHeaderBytes = 100'000'000;
// header > tensor > shape > number
constexpr int kMostDepth = 3;
constexpr const char* kMetadata = "__metadata__";
constexpr const char* kSeal = "warpscope_sha256";
// What stands before the seal's digits, and nowhere else: JSON escapes quotes within text, and no key holds
// one.
constexpr std::string_view kBeforeSeal = R"("warpscope_sha256":")";

/// Says what is wrong with a file. What the file itself says may be long: only its beginning is quoted.
class Refusal {
 public:
  explicit Refusal(const fs::path& path) : path_(path) {}
  template <class... Arguments>
  [[noreturn]] void operator()(fmt::format_string<Arguments...> text, Arguments&&... arguments) const {
    const std::string what = escaped(fmt::format(text, std::forward<Arguments>(arguments)...));
    throw core::BadInput(fmt::format("{} is no usable safetensors file: {:.300}", path_.string(), what));
  }

 private:
  const fs::path& path_;
};

/// To who looks for a file that is whole, one on a disk that fails is a damaged one.
void read(const InputFile& file, std::uint64_t offset, void* data, std::size_t bytes) {
  try {
    file.read(static_cast<std::int64_t>(offset), {static_cast<std::uint8_t*>(data), bytes});
  } catch (const core::Error& error) {
    throw core::BadInput(error.what());
  }
}

std::uint64_t size_of(const InputFile& file) {
  return static_cast<std::uint64_t>(file.size());
}

/// How many bits an element has.
struct Dtype {
  std::string_view name;
  std::uint64_t bits = 0;
};
constexpr Dtype kDtypes[] = {
    {"F32", 32},    {"F16", 16}, {"BF16", 16},       {"F64", 64},       {"BOOL", 8},    {"U8", 8},
    {"I8", 8},      {"U16", 16}, {"I16", 16},        {"U32", 32},       {"I32", 32},    {"U64", 64},
    {"I64", 64},    {"C64", 64}, {"F8_E5M2", 8},     {"F8_E4M3", 8},    {"F8_E8M0", 8}, {"F6_E2M3", 6},
    {"F6_E3M2", 6}, {"F4", 4},   {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}};

/// nullptr for one that came later than this list.
const Dtype* find_dtype(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kDtypes), std::end(kDtypes),
                                         [&](const Dtype& row) { return row.name == name; });
  return found == std::end(kDtypes) ? nullptr : found;
}

/// The float of IEEE 754's 16 bits: sign, 5 bits of exponent, 10 of mantissa.
float float_of_half(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16u;
  const std::uint32_t exponent = bits >> 10u & 0x1fu;
  const std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign == 0 ? magnitude : -magnitude;
  }
  const std::uint32_t wide = exponent == 0x1f ? 0xffu : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23u | mantissa << 13u);
}

template <class Stored, class Convert>
std::vector<float> converted(const std::vector<std::uint8_t>& bytes, Convert convert) {
  std::vector<float> values(bytes.size() / sizeof(Stored));
  for (std::size_t i = 0; i < values.size(); ++i) {
    Stored stored{};
    std::memcpy(&stored, bytes.data() + i * sizeof stored, sizeof stored);
    values[i] = convert(stored);
  }
  return values;
}

std::string read_header(const InputFile& file, const Refusal& refuse) {
  const bool too_short = size_of(file) < kLengthBytes;
  std::uint64_t length = 0;
  if (!too_short) read(file, 0, &length, sizeof length);
  if (too_short || length == 0 || length > kMostHeaderBytes || length > size_of(file) - kLengthBytes) {
    if (const std::string kind = told_instead_of_safetensors(file.read_up_to(0, kKindBytes)); !kind.empty())
      refuse("it {}", kind);
    if (too_short)
      refuse("it has {} bytes, fewer than the {} of the header's length", size_of(file), kLengthBytes);
    refuse("its header should have {} bytes, but the file has {}", length, size_of(file));
  }
  std::string header(length, '\0');
  read(file, kLengthBytes, header.data(), header.size());
  return header;
}

json parse_header(const std::string& header, const Refusal& refuse) {
  // The format forbids names that occur twice; the parser would keep the last one.
  std::set<std::string> names;
  std::string twice;
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > kMostDepth) refuse("its header is nested too deeply");
    if (depth == 1 && event == json::parse_event_t::key &&
        !names.insert(parsed.get_ref<const std::string&>()).second) {
      twice = parsed.get<std::string>();
    }
    return true;
  };
  json parsed;
  try {
    parsed = json::parse(header, watch);
  } catch (const json::exception&) {
    refuse("its header is not JSON");
  }
  if (!parsed.is_object()) refuse("its header is not a JSON object");
  if (!twice.empty()) refuse("its header names \"{}\" twice", twice);
  return parsed;
}

std::uint64_t read_number(const json& value, const std::string& name, const char* what,
                          const Refusal& refuse) {
  if (!value.is_number_unsigned()) refuse("the {} of \"{}\" is not a whole number from 0 on", what, name);
  return value.get<std::uint64_t>();
}

TensorEntry read_entry(const std::string& name, const json& value, const Refusal& refuse) {
  const auto member = [&](const char* key) -> const json& {
    const auto found = value.find(key);
    if (found == value.end()) refuse("its header has no \"{}\" for \"{}\"", key, name);
    return *found;
  };
  if (!value.is_object()) refuse("its header has no object for \"{}\"", name);
  if (value.size() != 3) refuse("its header has {} members for \"{}\" instead of 3", value.size(), name);
  const json& dtype = member("dtype");
  if (!dtype.is_string()) refuse("the dtype of \"{}\" is not text", name);
  TensorEntry entry;
  entry.name = name;
  entry.dtype = dtype.get<std::string>();
  const json& shape = member("shape");
  if (!shape.is_array()) refuse("the shape of \"{}\" is not a list", name);
  for (const json& size : shape) {
    const std::uint64_t elements = read_number(size, name, "shape", refuse);
    if (elements > std::numeric_limits<std::int64_t>::max()) refuse("the shape of \"{}\" is too large", name);
    entry.shape.push_back(static_cast<std::int64_t>(elements));
  }
  const json& offsets = member("data_offsets");
  if (!offsets.is_array() || offsets.size() != 2) refuse("\"{}\" has no pair of data_offsets", name);
  entry.begin = read_number(offsets[0], name, "data_offsets", refuse);
  entry.end = read_number(offsets[1], name, "data_offsets", refuse);
  return entry;
}

/// Elements of a shape without negative sizes; more than any file holds if the product does not fit.
std::uint64_t element_count(const std::vector<std::int64_t>& shape) {
  constexpr std::uint64_t kTooMany = std::numeric_limits<std::uint64_t>::max() / 64;
  std::uint64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size == 0) return 0;
  }
  for (const std::int64_t size : shape) {
    if (count > kTooMany / static_cast<std::uint64_t>(size)) return kTooMany;
    count *= static_cast<std::uint64_t>(size);
  }
  return count;
}

/// Checks that the entries fill `data_bytes` without gaps or overlaps, each with the bytes its shape needs.
void check_entries(const std::vector<TensorEntry>& entries, std::uint64_t data_bytes, const Refusal& refuse) {
  std::uint64_t at = 0;
  for (const TensorEntry& entry : entries) {
    if (entry.end < entry.begin) {
      refuse("\"{}\" ends at byte {}, before it begins at {}", entry.name, entry.end, entry.begin);
    }
    if (entry.end > data_bytes) {
      refuse("\"{}\" lies at bytes {} to {} of {}; the file may be cut off: copy or download it again",
             entry.name, entry.begin, entry.end, data_bytes);
    }
    if (entry.begin != at) {
      refuse("\"{}\" begins at byte {}, but what is before it ends at {}", entry.name, entry.begin, at);
    }
    const Dtype* const dtype = find_dtype(entry.dtype);
    if (dtype != nullptr && (element_count(entry.shape) * dtype->bits + 7) / 8 != entry.end - entry.begin) {
      refuse("\"{}\" has {} bytes, which does not fit its shape", entry.name, entry.end - entry.begin);
    }
    at = entry.end;
  }
  if (at != data_bytes) refuse("its tensors end at byte {} of {}", at, data_bytes);
}

std::map<std::string, std::string> read_metadata(const json& value, const Refusal& refuse) {
  if (!value.is_object()) refuse("its {} is not a JSON object", kMetadata);
  std::map<std::string, std::string> metadata;
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) refuse("its {} \"{}\" is not text", kMetadata, key);
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

/// Where the seal's digits are in the header; npos if it has none.
std::size_t find_seal(std::string_view header) {
  const std::size_t found = header.find(kBeforeSeal);
  if (found == std::string_view::npos) return found;
  const std::size_t at = found + kBeforeSeal.size();
  return header.size() - at < Sha256::kDigits ? std::string_view::npos : at;
}

/// Refuses a file whose bytes are not those that were sealed. `seal`: where it is in the header.
void check_seal(const InputFile& file, std::string header, std::size_t seal, const Refusal& refuse) {
  const std::string expected = header.substr(seal, Sha256::kDigits);
  header.replace(seal, Sha256::kDigits, Sha256::kDigits, '0');
  const std::uint64_t length = header.size();
  Sha256 sum;
  sum.update(&length, sizeof length);
  sum.update(header.data(), header.size());
  std::vector<char> block(std::size_t{1} << 20);
  for (std::uint64_t at = kLengthBytes + length; at < size_of(file);) {
    const std::size_t bytes = std::min<std::uint64_t>(block.size(), size_of(file) - at);
    read(file, at, block.data(), bytes);
    sum.update(block.data(), bytes);
    at += bytes;
  }
  if (sum.finish() != expected) refuse("its bytes do not match its SHA-256, so it is damaged");
}

json make_header(const fs::path& path, const std::vector<NamedTensor>& tensors,
                 const std::map<std::string, std::string>& metadata) {
  json header = json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  std::uint64_t at = 0;
  for (const NamedTensor& tensor : tensors) {
    if (tensor.name == kMetadata || header.contains(tensor.name)) {
      throw core::BadInput(fmt::format("cannot write {}: the name \"{}\" {}", path.string(), tensor.name,
                                       tensor.name == kMetadata ? "is reserved" : "occurs twice"));
    }
    const bool negative = std::ranges::any_of(tensor.shape, [](auto size) { return size < 0; });
    if (negative || element_count(tensor.shape) != tensor.values.size()) {
      throw core::BadInput(fmt::format("cannot write {}: \"{}\" has {} values, which do not fit its shape",
                                       path.string(), tensor.name, tensor.values.size()));
    }
    const std::uint64_t end = at + tensor.values.size() * sizeof(float);
    header[tensor.name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {at, end}}};
    at = end;
  }
  return header;
}

std::string header_text(const fs::path& path, const std::vector<NamedTensor>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  std::string header;
  try {
    header = make_header(path, tensors, metadata).dump();
  } catch (const json::exception&) {
    throw core::BadInput(fmt::format("cannot write {}: a name or its metadata are not UTF-8", path.string()));
  }
  // Spaces at the end align the tensors to 8 bytes.
  header.resize((header.size() + 7) / 8 * 8, ' ');
  return header;
}

/// take(data, bytes) for each piece of the tensors' bytes, until it is asked to stop.
template <class Take>
void take_pieces(const fs::path& path, const std::vector<NamedTensor>& tensors, const Writing& writing,
                 const Take& take) {
  constexpr std::size_t kPiece = std::size_t{1} << 18;  // floats
  for (const NamedTensor& tensor : tensors) {
    for (std::size_t at = 0; at < tensor.values.size(); at += kPiece) {
      if (writing.stop.stop_requested()) throw Stopped(fmt::format("{} is not written", path.string()));
      take(tensor.values.data() + at, std::min(kPiece, tensor.values.size() - at) * sizeof(float));
    }
  }
}

void write_file(const fs::path& path, const std::string& header, const std::vector<NamedTensor>& tensors,
                const Writing& writing) {
  const std::uint64_t length = header.size();
  AtomicFile file(path);
  file.write(&length, sizeof length);
  file.write(header);
  take_pieces(path, tensors, writing,
              [&file](const float* data, std::size_t bytes) { file.write(data, bytes); });
  file.commit(writing.lasts);
}

}  // namespace

bool TensorEntry::readable() const {
  return dtype == "F32" || dtype == "F16" || dtype == "BF16" || dtype == "F64";
}

SafetensorsFile::SafetensorsFile(const fs::path& path, Seal wanted) : file_(path) {
  const Refusal refuse(file_.path());
  const std::string text = read_header(file_, refuse);
  if (const std::size_t seal = find_seal(text); seal != std::string::npos) {
    check_seal(file_, text, seal, refuse);
  } else if (wanted == Seal::required) {
    refuse("it holds no SHA-256 of itself, as checkpoints do");
  }
  data_start_ = kLengthBytes + text.size();
  const json header = parse_header(text, refuse);
  for (const auto& [name, value] : header.items()) {
    if (name == kMetadata) {
      metadata_ = read_metadata(value, refuse);
    } else {
      entries_.push_back(read_entry(name, value, refuse));
    }
  }
  metadata_.erase(kSeal);
  std::ranges::sort(entries_, [](const TensorEntry& a, const TensorEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  check_entries(entries_, size_of(file_) - data_start_, refuse);
}

std::vector<float> SafetensorsFile::read(const TensorEntry& entry) const {
  const Refusal refuse(path());
  if (!entry.readable()) {
    refuse("\"{}\" has the dtype {}; F32, F16, BF16 and F64 can be read", entry.name, entry.dtype);
  }
  if (entry.dtype == "F32") {
    std::vector<float> values((entry.end - entry.begin) / sizeof(float));
    files::read(file_, data_start_ + entry.begin, values.data(), entry.end - entry.begin);
    return values;
  }
  std::vector<std::uint8_t> bytes(entry.end - entry.begin);
  files::read(file_, data_start_ + entry.begin, bytes.data(), bytes.size());
  if (entry.dtype == "F64") {
    return converted<double>(bytes, [](double value) { return static_cast<float>(value); });
  }
  if (entry.dtype == "F16") return converted<std::uint16_t>(bytes, float_of_half);
  return converted<std::uint16_t>(
      bytes, [](std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16u); });
}

std::map<std::string, std::string> metadata_of(const fs::path& path) {
  const InputFile file(path);
  const Refusal refuse(path);
  const json header = parse_header(read_header(file, refuse), refuse);
  const auto found = header.find(kMetadata);
  if (found == header.end()) return {};
  return read_metadata(*found, refuse);
}

std::vector<NamedTensor> read_tensors(const SafetensorsFile& file) {
  std::vector<NamedTensor> tensors;
  for (const TensorEntry& entry : file.entries())
    tensors.push_back({entry.name, entry.shape, file.read(entry)});
  return tensors;
}

std::vector<NamedTensor> read_safetensors(const fs::path& path, std::map<std::string, std::string>* metadata,
                                          Seal wanted) {
  const SafetensorsFile file(path, wanted);
  if (metadata != nullptr) *metadata = file.metadata();
  return read_tensors(file);
}

void write_safetensors(const fs::path& path, const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  write_file(path, header_text(path, tensors, metadata), tensors, {});
}

void write_sealed_safetensors(const fs::path& path, const std::vector<NamedTensor>& tensors,
                              const std::map<std::string, std::string>& metadata, const Writing& writing) {
  for (const auto& [key, text] : metadata) {
    if (key == kSeal || key.find('"') != std::string::npos) {
      throw core::BadInput(
          fmt::format("cannot write {}: metadata may not be named '{}'", path.string(), key));
    }
  }
  std::map<std::string, std::string> sealed = metadata;
  sealed[kSeal] = std::string(Sha256::kDigits, '0');
  std::string header = header_text(path, tensors, sealed);
  const std::uint64_t length = header.size();
  Sha256 sum;
  sum.update(&length, sizeof length);
  sum.update(header.data(), header.size());
  take_pieces(path, tensors, writing,
              [&sum](const float* data, std::size_t bytes) { sum.update(data, bytes); });
  header.replace(find_seal(header), Sha256::kDigits, sum.finish());
  write_file(path, header, tensors, writing);
}

}  // namespace warpscope::files
