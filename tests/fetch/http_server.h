#pragma once
// A web server for tests on 127.0.0.1 that serves one file and misbehaves on request.

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace warpscope::tests {

class HttpServer {
 public:
  struct Behaviour {
    bool ranges = true;                         ///< answers Range requests with 206
    int status = 200;                           ///< anything else: an error page with this status
    std::size_t cut_after = std::string::npos;  ///< closes the connection after so many bytes of the body
  };

  HttpServer(std::string content, Behaviour behaviour) : content_(std::move(content)), behaviour_(behaviour) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, 8) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      throw std::runtime_error("cannot listen on 127.0.0.1");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer() {
    thread_.request_stop();
    thread_.join();
    ::close(listener_);
  }

  std::string url(std::string_view path) const {
    return "http://127.0.0.1:" + std::to_string(port_) + "/" + std::string(path);
  }

  /// The Range header of each request so far, "" for requests without one.
  std::vector<std::string> ranges() const {
    const std::lock_guard lock(mutex_);
    return ranges_;
  }

 private:
  void serve(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd waiting{listener_, POLLIN, 0};
      if (::poll(&waiting, 1, 20) <= 0) continue;
      const int connection = ::accept(listener_, nullptr, nullptr);
      if (connection < 0) continue;
      answer(connection, read_request(connection));
      ::close(connection);
    }
  }

  static std::string read_request(int connection) {
    std::string request;
    char buffer[4096];
    while (request.find("\r\n\r\n") == std::string::npos) {
      const ::ssize_t got = ::recv(connection, buffer, sizeof buffer, 0);
      if (got <= 0) break;
      request.append(buffer, static_cast<std::size_t>(got));
    }
    return request;
  }

  void answer(int connection, const std::string& request) {
    const std::string range = header(request, "Range: ");
    {
      const std::lock_guard lock(mutex_);
      ranges_.push_back(range);
    }
    if (behaviour_.status != 200) {
      send_all(connection, head(behaviour_.status, 10) + "\r\nerror page");
      return;
    }
    std::size_t from = 0;
    int status = 200;
    std::string more;
    if (behaviour_.ranges && range.starts_with("bytes=")) {
      from = static_cast<std::size_t>(std::strtoull(range.c_str() + 6, nullptr, 10));
      const std::string total = std::to_string(content_.size());
      status = from < content_.size() ? 206 : 416;
      more = status == 206 ? "Content-Range: bytes " + std::to_string(from) + "-" +
                                 std::to_string(content_.size() - 1) + "/" + total + "\r\n"
                           : "Content-Range: bytes */" + total + "\r\n";
      from = std::min(from, content_.size());
    }
    const std::string body = content_.substr(from);
    send_all(connection, head(status, body.size()) + more + "\r\n" + body.substr(0, behaviour_.cut_after));
  }

  static std::string head(int status, std::size_t bytes) {
    return "HTTP/1.1 " + std::to_string(status) +
           " Status\r\nConnection: close\r\nContent-Length: " + std::to_string(bytes) + "\r\n";
  }

  static std::string header(const std::string& request, std::string_view name) {
    const std::size_t at = request.find(name);
    if (at == std::string::npos) return {};
    return request.substr(at + name.size(), request.find("\r\n", at) - at - name.size());
  }

  static void send_all(int connection, std::string_view text) {
    while (!text.empty()) {
      const ::ssize_t sent = ::send(connection, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  std::string content_;
  Behaviour behaviour_;
  int listener_ = -1;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> ranges_;
  std::jthread thread_;
};

}  // namespace warpscope::tests
