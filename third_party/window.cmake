# What the window uses: GLFW, Xlib, Dear ImGui (with its GLFW and OpenGL 3 backends, which Debian's library contains),
# and glad, whose loader is generated at build time (--reproducible: without it the generator wants the network).
find_package(glfw3 3.3 REQUIRED)
pkg_check_modules(IMGUI REQUIRED IMPORTED_TARGET imgui)
find_package(X11 REQUIRED COMPONENTS Xext)  # shared memory with the X server
find_program(GLAD_PROGRAM glad REQUIRED)

set(glad_dir ${CMAKE_BINARY_DIR}/glad)
add_custom_command(
  OUTPUT ${glad_dir}/src/gl.c ${glad_dir}/include/glad/gl.h
  COMMAND ${GLAD_PROGRAM} --quiet --reproducible --api gl:core=3.3 --extensions GL_KHR_debug --out-path ${glad_dir} c
  COMMENT "Generating the OpenGL 3.3 loader with glad"
  VERBATIM)
add_library(glad_loader STATIC ${glad_dir}/src/gl.c ${glad_dir}/include/glad/gl.h)
target_include_directories(glad_loader SYSTEM PUBLIC ${glad_dir}/include)
target_link_libraries(glad_loader PUBLIC ${CMAKE_DL_LIBS})

add_library(warpscope_window_dependencies INTERFACE)
target_link_libraries(warpscope_window_dependencies INTERFACE glfw X11::X11 X11::Xext glad_loader PkgConfig::IMGUI
                                                              PkgConfig::STB)
