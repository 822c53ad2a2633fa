package framing_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/framing"
)

// A framing that is not in the table is known to neither Auto nor the programs.
func TestFormatsAreComplete(t *testing.T) {
	files, err := os.ReadDir(".")
	assert.NilError(t, err)
	declared := 0
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, 0)
		assert.NilError(t, err)
		for _, d := range f.Decls {
			d, ok := d.(*ast.FuncDecl)
			if ok && d.Recv == nil && d.Name.IsExported() && d.Name.Name != "Auto" &&
				isFraming(d.Type) {
				declared++
			}
		}
	}
	assert.Equal(t, declared, len(framing.Formats()), "functions that are a Framing, but for Auto")
	for i, f := range framing.Formats() {
		for _, other := range framing.Formats()[:i] {
			assert.Assert(t, f.Name != other.Name)
		}
	}
}

// isFraming reports whether the type of a function is that of a Framing.
func isFraming(f *ast.FuncType) bool {
	params, results := f.Params.List, f.Results
	if len(params) != 2 || results == nil || len(results.List) != 1 {
		return false
	}
	limits, ok := params[1].Type.(*ast.Ident)
	codec, ok2 := results.List[0].Type.(*ast.Ident)
	return ok && ok2 && limits.Name == "Limits" && codec.Name == "Codec"
}

// Auto and Resync detect every framing of the table, however the bytes arrive, and append in it.
func TestFormatsAreDetected(t *testing.T) {
	for _, f := range framing.Formats() {
		own := f.Framing(nil, framing.Limits{})
		assert.Equal(t, framing.FormatOf(own).Name, f.Name)
		one, err := own.AppendFrame(nil, []byte("{}"))
		assert.NilError(t, err)
		for how, deliver := range deliveries {
			for name, framed := range map[string]framing.Framing{"auto": framing.Auto,
				"resync": framing.Resync(func([]byte, bool) bool { return true }, nil)} {
				t.Run(f.Name+"/"+how+"/"+name, func(t *testing.T) {
					in := strings.NewReader(bom + string(one) + string(one))
					c := framed(deliver(in), framing.Limits{})
					got := readAll(t, c)
					assert.DeepEqual(t, got, []string{"{}", "{}", "error: EOF"})
					if name == "auto" || f.Name != "newline" {
						assert.Equal(t, framing.FormatOf(c).Name, f.Name)
					}
				})
			}
		}
	}
}

// Every framing of the table keeps the rules of a Codec for frames that are too large, for memory
// of the caller, and for streams and readers that fail.
func TestFormatsKeepTheRules(t *testing.T) {
	broken := errors.New("broken")
	for _, f := range framing.Formats() {
		t.Run(f.Name, func(t *testing.T) {
			c := f.Framing(nil, framing.Limits{})
			var in []byte
			var ends []int // of frames
			for _, payload := range []string{"{}", "too large", "[]"} {
				var err error
				in, err = c.AppendFrame(in, []byte(payload))
				assert.NilError(t, err)
				ends = append(ends, len(in))
			}
			small := framing.Limits{MaxFrame: 4}
			testReads(t, f.Framing, []readCase{{name: "too large", limits: small, in: string(in),
				want: []string{"{}", "error: over the limit of 4", "[]", "error: EOF"}}})
			testAppends(t, f.Framing, []appendCase{
				{name: "too large", limits: small, parts: []string{"12", "345"},
					err: framing.ErrTooLarge},
				{name: "no parts", err: framing.ErrEmpty},
				{name: "empty", parts: []string{"", ""}, err: framing.ErrEmpty},
			})

			buf := make([]byte, 1, 100)
			start := &buf[0]
			c = f.Framing(bytes.NewReader(in), small)
			for range 4 {
				buf, _ = c.ReadFrame(buf)
				assert.Equal(t, cap(buf), 100)
				assert.Equal(t, &buf[:1][0], start)
			}

			for cut := ends[0]; cut < ends[1]; cut++ {
				// the reader fails once only: the codec must remember
				r := io.MultiReader(bytes.NewReader(in[:cut]), &failOnce{err: broken},
					bytes.NewReader(in))
				c := f.Framing(iotest.OneByteReader(r), framing.Limits{})
				got, err := c.ReadFrame(nil)
				assert.NilError(t, err)
				assert.Equal(t, string(got), "{}")
				for range 2 {
					got, err = c.ReadFrame(got)
					assert.Equal(t, err, broken, "after %d bytes", cut)
					assert.Equal(t, len(got), 0)
				}
				all := readAll(t, f.Framing(bytes.NewReader(in[:cut]), framing.Limits{}))
				assert.Assert(t, len(all) >= 2 && len(all) <= 3, "%q", all)
			}
		})
	}
}

// What FormatOf says of a codec that is in no row.
func TestFormatOfAnother(t *testing.T) {
	assert.Equal(t, fmt.Sprint(framing.FormatOf(another{}).Name), "")
}

type another struct{ framing.Codec }

func (another) AppendFrame(dst []byte, _ ...[]byte) ([]byte, error) { return append(dst, '?'), nil }
