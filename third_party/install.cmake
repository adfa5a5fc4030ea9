# What `cmake --install` puts where (program, menu entry, icon, manual page, networks, notices) and the Debian package
# that `cpack` makes of it. The manual page is printed by the program itself.
include(GNUInstallDirs)
find_program(GZIP_PROGRAM gzip REQUIRED)

install(TARGETS warpscope RUNTIME)
install(FILES assets/warpscope.desktop DESTINATION ${CMAKE_INSTALL_DATADIR}/applications)
install(FILES assets/warpscope.svg DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps)
# To read and to start from; those that --model knows by name are part of the program.
install(DIRECTORY assets/models/ DESTINATION ${CMAKE_INSTALL_DATADIR}/warpscope/networks FILES_MATCHING PATTERN *.toml)

set(manual ${CMAKE_BINARY_DIR}/warpscope.1)
install(CODE "execute_process(COMMAND \"$<TARGET_FILE:warpscope>\" config --manual OUTPUT_FILE \"${manual}\"
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND \"${GZIP_PROGRAM}\" -9nf \"${manual}\" COMMAND_ERROR_IS_FATAL ANY)")
install(FILES ${manual}.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

# Licences of what is compiled into the program ask for their notices beside it.
file(READ assets/copyright notices)
foreach(package libimgui-dev nlohmann-json3-dev libcli11-dev libasio-dev libxxhash-dev python3-glad)
  set(file /usr/share/doc/${package}/copyright)
  if(EXISTS ${file})
    file(READ ${file} text)
    string(APPEND notices "\n======== ${package}\n\n${text}")
  endif()
endforeach()
file(WRITE ${CMAKE_BINARY_DIR}/copyright "${notices}")
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # SOURCE_DATE_EPOCH fixes it
set(maintainer "Warpscope's authors <warpscope@localhost>")
configure_file(assets/changelog.in changelog @ONLY)
execute_process(COMMAND ${GZIP_PROGRAM} -9nf ${CMAKE_BINARY_DIR}/changelog COMMAND_ERROR_IS_FATAL ANY)
install(FILES ${CMAKE_BINARY_DIR}/copyright ${CMAKE_BINARY_DIR}/changelog.gz DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME warpscope)
set(CPACK_PACKAGE_CONTACT ${maintainer})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "watch a neural network train, kernel by kernel")
set(CPACK_PACKAGE_DESCRIPTION
    "Trains neural networks by kernels of its own, on NVIDIA GPUs and on CPUs,
and shows the loss, the time of each kernel and what the network makes of
images while it does. The implementation of each operation can be switched
in between.")
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
if(WARPSCOPE_WINDOW)
  # GLFW opens these by their names.
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libxrandr2, libxinerama1, libxcursor1, libxi6, libgl1-mesa-dri")
endif()
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "fonts-inter, fonts-jetbrains-mono, ca-certificates")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "openmpi-bin")
include(CPack)
