package uritemplate_test

import (
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/internal/uritemplate"
)

func ExampleTemplate_Expand() {
	t, _ := uritemplate.Parse("repo://{owner}/{name}/contents{/path}{?ref,format}")
	uri, err := t.Expand(uritemplate.Values{
		"owner": uritemplate.String("stdwire"), "name": uritemplate.String("50% off"),
		"path": uritemplate.String("peer.go"), "ref": uritemplate.String("main"),
	})
	fmt.Println(uri, err)
	// Output: repo://stdwire/50%25%20off/contents/peer.go?ref=main <nil>
}

func ExampleTemplate_Match() {
	t, _ := uritemplate.Parse("repo://{owner}/{name}/contents{/path*}{?ref,format}")
	values, ok := t.Match("repo://stdwire/50%25%20off/contents/rpc/peer.go?format=raw")
	fmt.Println(values["name"], values["path"].Parts(), values["format"], ok)
	fmt.Println(values["ref"].Kind() == uritemplate.Undefined)
	_, ok = t.Match("repo://stdwire/contents")
	fmt.Println(ok)
	// Output:
	// 50% off [rpc peer.go] raw true
	// true
	// false
}

func ExampleSet() {
	files, _ := uritemplate.Parse("file:///{+path}")
	logs, _ := uritemplate.Parse("file:///var/log/{name}{.ext}")
	set := uritemplate.NewSet(files, logs)
	for _, uri := range []string{"file:///var/log/syslog.1", "file:///etc/hosts",
		"http://example.com"} {
		fmt.Println(set.Match(uri))
	}
	// Output:
	// 1 map[ext:1 name:syslog] true
	// 0 map[path:etc/hosts] true
	// -1 map[] false
}

func ExampleSyntaxError() {
	_, err := uritemplate.Parse("file:///{path")
	syntax, ok := errors.AsType[*uritemplate.SyntaxError](err)
	fmt.Println(err)
	fmt.Println(ok, syntax.Offset)
	// Output:
	// URI template "file:///{path": at byte 8: the expression is not closed, its } is missing
	// true 8
}
