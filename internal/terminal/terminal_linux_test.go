package terminal

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"unsafe"

	"gotest.tools/v3/assert"
)

func TestIsTerminal(t *testing.T) {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	defer f.Close()
	assert.Assert(t, Is(f))
}

func TestDiscard(t *testing.T) {
	here, there := pair(t)
	for _, line := range []string{"too early\n", "half a line"} {
		_, err := here.WriteString(line)
		assert.NilError(t, err)
	}
	Discard(there)
	_, err := here.WriteString("in time\n")
	assert.NilError(t, err)
	var b [100]byte
	n, err := there.Read(b[:])
	assert.NilError(t, err)
	assert.Equal(t, string(b[:n]), "in time\n")

	null, err := os.Open(os.DevNull)
	assert.NilError(t, err)
	Discard(null)
	assert.NilError(t, null.Close())
	Discard(null) // does not panic
}

// pair returns the two ends of a terminal: that of the user, and that of the program.
func pair(t *testing.T) (here, there *os.File) {
	here, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	t.Cleanup(func() { here.Close() })
	var number, unlock uint32
	for request, argument := range map[uintptr]*uint32{syscall.TIOCGPTN: &number,
		syscall.TIOCSPTLCK: &unlock} {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, here.Fd(), request,
			uintptr(unsafe.Pointer(argument)))
		assert.Equal(t, errno, syscall.Errno(0))
	}
	there, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	assert.NilError(t, err)
	t.Cleanup(func() { there.Close() })
	return here, there
}

func TestColors(t *testing.T) {
	_, there := pair(t)
	for _, c := range []struct {
		noColor, term string
		want          bool
	}{{"", "xterm", true}, {"", "", true}, {"1", "xterm", false}, {"0", "xterm", false},
		{"", "dumb", false}} {
		t.Setenv("NO_COLOR", c.noColor)
		t.Setenv("TERM", c.term)
		assert.Equal(t, Colors(there), c.want, "%+v", c)
	}
}
