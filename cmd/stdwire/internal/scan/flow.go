package scan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A flowRole is what a tool may contribute to the exfiltration of data.
type flowRole int

const (
	untrustedInput flowRole = iota // reads text written by strangers
	privateData                    // reads private data
	dataSink                       // sends data to others, or runs programs, which can
)

// toxicFlow finds tools that together have all three roles, so that a stranger's text can make a
// model send private data away. It returns one finding for all servers.
func toxicFlow(sc *scanner) []Finding {
	var has [3]*definition
	for _, tool := range sc.tools() {
		for _, p := range flowRoles(tool.d) {
			has[p] = cmp.Or(has[p], tool.d)
		}
	}
	if has[untrustedInput] == nil || has[privateData] == nil || has[dataSink] == nil {
		return nil
	}
	name := func(d *definition) string { return fmt.Sprintf("%q of %q", d.name, d.server.ID) }
	return []Finding{{
		Severity: Medium, Place: has[dataSink].place(""),
		Related: []Place{has[untrustedInput].place(""), has[privateData].place("")},
		What: fmt.Sprintf(
			"with these tools, what a stranger wrote (%s) can make a model read private data (%s) and send it away (%s)",
			name(has[untrustedInput]), name(has[privateData]), name(has[dataSink])),
	}}
}

// flowRoles guesses the roles of a tool from its name, arguments and hints.
func flowRoles(d *definition) (all []flowRole) {
	name := nameWords(d.name)
	qualified := append(nameWords(d.server.ID), name...) // a tool "search" of a server "gmail"
	has := func(words []string, any string) bool {
		return slices.ContainsFunc(strings.Fields(any),
			func(word string) bool { return slices.Contains(words, word) })
	}
	annotations := jsonscan.Member(d.raw, "annotations")
	openWorld := string(jsonscan.Member(annotations, "openWorldHint"))
	takesURL := false
	for token := range jsonscan.Members(
		jsonscan.Member(jsonscan.Member(d.raw, "inputSchema"), "properties")) {
		argument, _ := jsonscan.Text(token)
		takesURL = takesURL ||
			has([]string{strings.ToLower(argument)},
				"url urls href endpoint webhook webhook_url target_url")
	}
	changes := has(name,
		"send post publish upload reply forward tweet share push notify invite comment email submit write create update add append delete remove set")
	reads := has(name,
		"read get list search find open view show query load export fetch download cat tree select dump browse lookup retrieve check")
	runs := has(name, "exec execute eval evaluate shell bash powershell terminal cmd spawn") ||
		has(name, "run start") &&
			has(name, "command commands script code shell python process proc program javascript")
	database := has(qualified,
		"sql query queries database db postgres mysql sqlite mongo mongodb table tables")
	const mail = "email emails mail mails inbox gmail outlook imap slack discord telegram whatsapp"
	byStrangers := has(qualified, mail) ||
		has(name, "tweet tweets issue issues comment comments rss feed feeds ticket tickets")
	web := has(name, "web http url browse browser crawl scrape navigate webpage website") ||
		takesURL && has(name, "fetch get open new page tab load download read")
	open := openWorld != "false" // the default of the hint is true

	if !changes && (web && open || takesURL && has(name, "fetch") || byStrangers && reads ||
		openWorld == "true" && (reads || runs) || has(qualified, "web fetch browser") &&
		has(name, "search fetch")) {
		all = append(all, untrustedInput)
	}
	content := reads && !has(name, "list tree find browse check")
	if !changes && (content &&
		has(qualified, "file files fs filesystem folder folders document documents drive") || reads &&
		has(qualified, mail)) || database && reads ||
		reads && has(name,
			"env environment secret secrets credential credentials password passwords clipboard contacts calendar cookie cookies history notes keychain") {
		all = append(all, privateData)
	}
	if runs && !database || takesURL && has(name, "fetch http request") || open &&
		(takesURL || has(name, "send publish tweet upload webhook") ||
			has(name, "post reply comment forward create push share") &&
				(byStrangers || has(qualified, "gist gists pull pr twitter github gitlab status post"))) {
		all = append(all, dataSink)
	}
	return all
}

// nameWords splits a name into words in lower case; readFile, read_file and read-file have the
// same.
func nameWords(name string) []string {
	var b strings.Builder
	var before rune
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(before) {
			b.WriteByte(' ')
		}
		if !unicode.IsLetter(r) {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
		before = r
	}
	return strings.Fields(b.String())
}

// hintContradiction finds tools that are destructive by their names but not by their hints.
func hintContradiction(_ *scanner, d *definition) []Finding {
	if !d.tool() {
		return nil
	}
	words := nameWords(d.name)
	i := slices.IndexFunc(words, func(word string) bool {
		return slices.Contains(
			[]string{"delete", "remove", "drop", "destroy", "erase", "purge", "wipe", "truncate",
				"uninstall", "overwrite"}, word)
	})
	if i < 0 || slices.ContainsFunc(words, func(word string) bool {
		return slices.Contains(
			[]string{"list", "get", "show", "find", "search", "count", "preview", "undo", "can",
				"check", "describe", "explain", "plan", "simulate"}, word)
	}) {
		return nil
	}
	annotations := jsonscan.Member(d.raw, "annotations")
	readOnly, destructive := string(jsonscan.Member(annotations, "readOnlyHint")),
		string(jsonscan.Member(annotations, "destructiveHint"))
	f := Finding{Place: d.place("annotations")}
	switch {
	case readOnly == "true":
		f.Severity, f.What, f.Evidence = High,
			"the tool is destructive by its name, and read-only by its hints: hosts may call it without asking",
			"readOnlyHint: true"
	case destructive == "false":
		f.Severity, f.What, f.Evidence = Medium,
			"the tool is destructive by its name, and not by its hints",
			"destructiveHint: false"
	case destructive == "":
		f.Severity, f.What = Low,
			"the tool is destructive by its name, and no hint says so"
	default:
		return nil
	}
	return []Finding{f}
}
