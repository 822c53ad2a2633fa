package fs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs"
	"github.com/stdwire/stdwire/dispatch"
)

// Without dispatch.GateWrite, a catalog has only the operations that read. With
// dispatch.NewCatalog(dispatch.GateWrite) it has all.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(dir+"/notes.txt", []byte("one\ntwo\nthree\n"), 0o666); err != nil {
		log.Fatal(err)
	}

	roots, err := fs.OpenRoots([]fs.Root{{Name: "main", Dir: dir}})
	if err != nil {
		log.Fatal(err)
	}
	defer roots.Close()
	catalog := dispatch.NewCatalog()
	if err := fs.Register(catalog, roots); err != nil {
		log.Fatal(err)
	}
	dispatcher := dispatch.Options{}.New(catalog)

	for _, arguments := range []string{`{"path":"notes.txt","start_line":2,"lines":1}`,
		`{"path":"../notes.txt"}`} {
		result := dispatcher.Dispatch(context.Background(),
			&dispatch.Call{Operation: "fs.read", Arguments: json.RawMessage(arguments)})
		if result.Err != nil {
			fmt.Println(result.Err)
			continue
		}
		var out fs.ReadOutput
		if err := json.Unmarshal(result.Data, &out); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%q of %d bytes, line %d is next\n", out.Content, out.Size, out.NextLine)
	}
	// Output:
	// "two\n" of 14 bytes, line 3 is next
	// permission_denied: "../notes.txt" leads outside the root "main"
}
