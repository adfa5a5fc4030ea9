#include "app/fetch/download.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/core/error.h"

namespace warpscope::fetch {
namespace {

constexpr long kConnectSeconds = 30;
constexpr long kSilentSeconds = 60;
constexpr long kRangeNotSatisfiable = 416;
constexpr const char* kProtocols = "http,https,file";
constexpr const char* kRedirectProtocols = "http,https";

struct CloseCurl {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
};
using CurlHandle = std::unique_ptr<CURL, CloseCurl>;

CurlHandle make_curl() {
  static const CURLcode kReady = curl_global_init(CURL_GLOBAL_DEFAULT);
  CurlHandle curl(kReady == CURLE_OK ? curl_easy_init() : nullptr);
  if (!curl) throw core::Error("cannot start libcurl, which downloads need");
  return curl;
}

/// What the callbacks of one transfer share. Exceptions must not pass through libcurl, so they wait here.
struct Transfer {
  PartFile& part;
  const std::function<void(std::int64_t, std::int64_t)>& progress;
  std::int64_t resumed_at;
  int write_error = 0;
  std::exception_ptr stopped;
};

std::size_t on_data(char* data, std::size_t, std::size_t bytes, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  transfer.write_error = transfer.part.append(data, bytes);
  return transfer.write_error == 0 ? bytes : 0;
}

int on_progress(void* user, curl_off_t total, curl_off_t, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(user);
  try {
    transfer.progress(transfer.part.size(), total > 0 ? transfer.resumed_at + total : 0);
    return 0;
  } catch (...) {
    transfer.stopped = std::current_exception();
    return 1;
  }
}

void allow_protocols(CURL* curl) {
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, kProtocols);
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, kRedirectProtocols);
#else
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS,
                   static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS | CURLPROTO_FILE));
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

struct Outcome {
  CURLcode code;
  long status;
  std::string reason;
};

Outcome run(const std::string& url, Transfer& transfer) {
  const CurlHandle handle = make_curl();
  CURL* curl = handle.get();
  std::array<char, CURL_ERROR_SIZE> reason{};
  allow_protocols(curl);
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 10L);
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, kSilentSeconds);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "warpscope/" WARPSCOPE_VERSION);
  curl_easy_setopt(curl, CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(transfer.resumed_at));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason.data());
  Outcome outcome{curl_easy_perform(curl), 0, {}};
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &outcome.status);
  outcome.reason = reason[0] != '\0' ? reason.data() : curl_easy_strerror(outcome.code);
  return outcome;
}

/// True if the server would not go on from where the file ends.
bool cannot_resume(const Outcome& outcome) {
  return outcome.code == CURLE_RANGE_ERROR || outcome.code == CURLE_BAD_DOWNLOAD_RESUME ||
         outcome.status == kRangeNotSatisfiable;
}

[[noreturn]] void fail(const std::string& url, const Transfer& transfer, const Outcome& outcome) {
  if (transfer.write_error != 0) {
    throw core::Error(fmt::format(
        "cannot write {}: {}; what was downloaded so far is kept, so fetch again once there is room",
        transfer.part.path().string(), std::strerror(transfer.write_error)));
  }
  switch (outcome.code) {
    case CURLE_HTTP_RETURNED_ERROR:
      throw core::Error(fmt::format(
          "the server answered {} with HTTP status {}; try again later, or bring the data by hand", url,
          outcome.status));
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
      throw core::Error(fmt::format("cannot reach {}: {}; check the network", url, outcome.reason));
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
      throw core::BadInput(
          fmt::format("cannot download from \"{}\": {}; it should be an http, https or file address", url,
                      outcome.reason));
    default:
      throw core::Error(
          fmt::format("the download of {} stopped after {} bytes: {}; fetch again to go on from there", url,
                      transfer.part.size(), outcome.reason));
  }
}

}  // namespace

PartFile::PartFile(std::filesystem::path path) : path_(std::move(path)) {
  const auto refuse = [this](const std::string& why) {
    if (descriptor_ >= 0) ::close(descriptor_);
    throw core::BadInput(fmt::format("cannot write {}: {}", path_.string(), why));
  };
  for (;;) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor_ < 0) refuse(std::strerror(errno));
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      refuse(errno == EWOULDBLOCK ? "another process is fetching to it; wait for that one"
                                  : std::strerror(errno));
    }
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) refuse(std::strerror(errno));
    if (!S_ISREG(status.st_mode)) refuse("it is not a file");
    size_ = status.st_size;
    if (status.st_nlink > 0) return;
    // Another process finished with it, and removed it, between the opening and the locking.
    ::close(descriptor_);
  }
}

PartFile::~PartFile() {
  // While still locked, so that it is no other process's file.
  if (size_ == 0) remove();
  ::close(descriptor_);
}

int PartFile::append(const char* data, std::size_t bytes) {
  while (bytes > 0) {
    const ::ssize_t written = ::pwrite(descriptor_, data, bytes, size_);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    data += written;
    bytes -= static_cast<std::size_t>(written);
    size_ += written;
  }
  return 0;
}

void PartFile::clear() {
  if (::ftruncate(descriptor_, 0) != 0) {
    throw core::Error(fmt::format("cannot empty {}: {}", path_.string(), std::strerror(errno)));
  }
  size_ = 0;
}

std::string PartFile::md5(const std::function<void(std::int64_t)>& progress) const {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  if (!context || EVP_DigestInit_ex(context.get(), EVP_md5(), nullptr) != 1) {
    throw core::Error("cannot compute MD5 checksums: this OpenSSL does not allow them");
  }
  std::vector<unsigned char> block(std::size_t{1} << 20);
  std::int64_t at = 0;
  while (at < size_) {
    const ::ssize_t got = ::pread(descriptor_, block.data(), block.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw core::Error(fmt::format("cannot read {}: {}", path_.string(),
                                    got < 0 ? std::strerror(errno) : "it became shorter"));
    }
    EVP_DigestUpdate(context.get(), block.data(), static_cast<std::size_t>(got));
    at += got;
    progress(at);
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int bytes = 0;
  EVP_DigestFinal_ex(context.get(), digest.data(), &bytes);
  std::string text;
  for (unsigned int i = 0; i < bytes; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

void PartFile::remove() noexcept {
  if (!removed_) ::unlink(path_.c_str());
  removed_ = true;
}

void download(const std::string& url, PartFile& part,
              const std::function<void(std::int64_t, std::int64_t)>& progress) {
  for (;;) {
    Transfer transfer{part, progress, part.size(), 0, nullptr};
    const Outcome outcome = run(url, transfer);
    if (transfer.stopped) std::rethrow_exception(transfer.stopped);
    if (transfer.resumed_at > 0 && cannot_resume(outcome)) {
      part.clear();
      continue;
    }
    if (outcome.code != CURLE_OK) fail(url, transfer, outcome);
    return;
  }
}

}  // namespace warpscope::fetch
