package jsonscan

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// A number without a fraction is an integer in any notation. Its value is exact.
func TestInt(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "-0": 0, "-0.0": 0, "0e9999999999999999999": 0,
		"10": 10, "10.0": 10, "1e1": 10, "1.5e1": 15, "1.50E+1": 15, "-100e-1": -10, "10e-1": 1,
		"9007199254740993.0": 9007199254740993, "0.00000000000000000000000012e26": 12,
		"1.2" + strings.Repeat("0", 1000) + "e1": 12,
		"9223372036854775807":                    1<<63 - 1, "9.223372036854775807e18": 1<<63 - 1,
		"-9223372036854775808.0": -1 << 63} {
		n, ok := Int([]byte(text), 64)
		assert.Assert(t, ok, text)
		assert.Equal(t, n, want, text)
	}
	for _, text := range []string{"", "-", "x", "1.5", "1e-1", "-0.1", "1e19", "1e99999999999999999999",
		"9223372036854775808.0", `"1"`, `"1.0"`, "null", "[1]", "1.0 ", "1.0x", "1.", "1e", "01.0"} {
		_, ok := Int([]byte(text), 64)
		assert.Assert(t, !ok, text)
	}
	_, ok := Int([]byte("128.0"), 8)
	assert.Assert(t, !ok)
}

func TestUint(t *testing.T) {
	n, ok := Uint([]byte("1.8446744073709551615e19"), 64)
	assert.Assert(t, ok && n == 1<<64-1)
	n, ok = Uint([]byte("-0.0"), 64)
	assert.Assert(t, ok && n == 0)
	for _, text := range []string{"-1", "-1.0", "1.5", "18446744073709551616", "2e19"} {
		_, ok := Uint([]byte(text), 64)
		assert.Assert(t, !ok, text)
	}
}

func TestIntDoesNotAllocate(t *testing.T) {
	text := []byte("1234567")
	assert.Equal(t, testing.AllocsPerRun(100, func() { Int(text, 64) }), 0.0)
}
