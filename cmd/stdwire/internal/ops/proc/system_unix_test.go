//go:build unix

package proc

import (
	"testing"

	"github.com/stdwire/stdwire/internal/processtest"
)

func openFiles(testing.TB) int { return processtest.OpenFiles() }

func onWine() bool { return false }

const executable = "" // extension of programs
