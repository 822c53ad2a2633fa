package lineedit

import "syscall"

const getMode, setMode = syscall.TCGETS, syscall.TCSETS
