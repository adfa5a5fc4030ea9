# What the training library and the command line use, each from a distribution package.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(CURL REQUIRED)
find_package(LibArchive REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(STB REQUIRED IMPORTED_TARGET stb) # pictures
pkg_check_modules(WEBP REQUIRED IMPORTED_TARGET libwebp)

# xxHash: checksums of data. Its header holds all of it.
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
add_library(xxhash_header INTERFACE)
target_include_directories(xxhash_header SYSTEM INTERFACE ${XXHASH_INCLUDE_DIR})

# Asio: ranks of several hosts. Its headers hold all of it.
find_path(ASIO_INCLUDE_DIR asio.hpp REQUIRED)
add_library(asio_header INTERFACE)
target_include_directories(asio_header SYSTEM INTERFACE ${ASIO_INCLUDE_DIR})
# Each context is one thread's here, so it needs no fences, which ThreadSanitizer does not know.
target_compile_definitions(asio_header INTERFACE ASIO_STANDALONE ASIO_NO_DEPRECATED
                                                 ASIO_DISABLE_FENCED_BLOCK)

# oneDNN 2 or 3. Found by hand: the package's own CMake file asks for OpenCL's headers, which nothing here uses.
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)
add_library(dnnl_library INTERFACE)
target_include_directories(dnnl_library SYSTEM INTERFACE ${DNNL_INCLUDE_DIR})
target_link_libraries(dnnl_library INTERFACE ${DNNL_LIBRARY})

# LIBSVM: support vector machines on the CPU.
find_path(LIBSVM_INCLUDE_DIR libsvm/svm.h REQUIRED)
find_library(LIBSVM_LIBRARY svm REQUIRED)
add_library(libsvm_library INTERFACE)
target_include_directories(libsvm_library SYSTEM INTERFACE ${LIBSVM_INCLUDE_DIR})
target_link_libraries(libsvm_library INTERFACE ${LIBSVM_LIBRARY})

# LIBLINEAR: linear support vector machines on the CPU.
find_path(LIBLINEAR_INCLUDE_DIR linear.h REQUIRED)
find_library(LIBLINEAR_LIBRARY linear REQUIRED)
add_library(liblinear_library INTERFACE)
target_include_directories(liblinear_library SYSTEM INTERFACE ${LIBLINEAR_INCLUDE_DIR})
target_link_libraries(liblinear_library INTERFACE ${LIBLINEAR_LIBRARY})
