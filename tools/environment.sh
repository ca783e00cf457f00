# Sourced by the other scripts: the virtual environment, the build folder, and how to speak.
: "${VENV:=.venv}"
# One build folder for each environment: two torches never share objects.
build_folder_name=$(basename "$VENV")
: "${DEVSAN_BUILD_DIR:=build/${build_folder_name#.}}"
export VENV DEVSAN_BUILD_DIR
# CMake, Ninja and the formatters of the environment come before the machine's.
case $VENV in
  /*) PATH="$VENV/bin:$PATH" ;;
  *) PATH="$PWD/$VENV/bin:$PATH" ;;
esac
export PATH

say() {
  echo "devsan: $*" >&2
}
