package scan

import (
	"strings"
)

// A Rule describes a check.
type Rule struct {
	ID       string
	Severity Severity // of most of its findings
	Title    string   // a line
	Help     string   // a description of the findings and their risk
	Advice   string   // a remedy
}

// A rule is a Rule with its check: exactly one of the functions is set.
type rule struct {
	Rule
	injection  bool // it finds text that tries to steer a model; see escalate
	text       func(*scanner, *definition, *text) (Finding, bool)
	definition func(*scanner, *definition) []Finding
	scanner    func(*scanner) []Finding
	config     func(*Server) []Finding
	app        func(server string, a *App) []Finding
}

const ruleTooLarge = "too-large" // found while definitions are read

const doNotUse = "Do not use the server until its maker has explained the text; if you need it, leave the tool out, and pin the others."

// Rules returns all rules, in the order of the checks.
func Rules() (all []Rule) {
	for _, r := range ruleTable() {
		all = append(all, r.Rule)
	}
	return all
}

func ruleTable() []rule {
	return []rule{
		{Rule: Rule{
			ID: "hidden-unicode", Severity: High, Title: "Invisible text",
			Help: "Characters that are not drawn carry text that a model reads and people do not see, or make text look like another. Tag characters and " +
				"variation selectors can spell whole sentences. Characters that emoji need, and scripts written from right to left or with joined letters, are not " +
				"reported.",
			Advice: "Look at the text with the hidden characters spelled out. If they spell something, do not use the server; otherwise ask its maker to remove them.",
		}, injection: true, text: hiddenUnicode},
		{Rule: Rule{
			ID: "mixed-script-name", Severity: High,
			Title:  "A name with letters of another script that look like its own",
			Help:   "A name such as reаd_file with a Cyrillic а differs from the name that people see and confirm.",
			Advice: "Do not use the tool: there is no honest reason to mix scripts within a word of a name.",
		}, text: mixedScript},
		{Rule: Rule{
			ID: "terminal-escape", Severity: High, Title: "Terminal escape sequences",
			Help:   "Escape sequences in a definition hide or overwrite text on a terminal, so that a reviewer sees other text than the model.",
			Advice: "Look at the text with the sequences spelled out, and do not use the server if they hide something.",
		}, injection: true, text: terminalEscape},
		{Rule: Rule{
			ID: "hidden-layout", Severity: Medium, Title: "Text that is out of sight",
			Help:   "Text after a screen of white space, or in a comment, is read by the model and not by the user who approves the tool.",
			Advice: "Read the text to its end.",
		}, injection: true, text: hiddenLayout},
		{Rule: Rule{
			ID: "override-instructions", Severity: High,
			Title:  "The model is told to set instructions aside",
			Help:   "A definition describes the purpose of a tool. Text that tries to replace the user's instructions is an attack (tool poisoning).",
			Advice: doNotUse,
		}, injection: true, text: matches(overrideInstructions, true)},
		{Rule: Rule{
			ID: "conceal-from-user", Severity: High, Title: "Something is to be kept from the user",
			Help:   "A definition that asks the model to keep its actions from the user hides something.",
			Advice: doNotUse,
		}, injection: true, text: matches(concealFromUser, false)},
		{Rule: Rule{
			ID: "instruction-tag", Severity: High,
			Title:  "Text that looks like instructions of the host or the user",
			Help:   "Tags such as <IMPORTANT>, and the tokens that separate the roles of a conversation, make a definition look like instructions of the host or the user.",
			Advice: doNotUse,
		}, injection: true, text: matches(instructionTags, false)},
		{Rule: Rule{
			ID: "tool-precedence", Severity: Medium,
			Title:  "The model is told when to use other tools",
			Help:   "A tool that asks to be called before or in place of all others sees, and may change, the data meant for them.",
			Advice: "Ask whether the tool needs that for what it does. If not, leave it out.",
		}, injection: true, text: matches(toolPrecedence, true)},
		{Rule: Rule{
			ID: "asks-for-context", Severity: Medium,
			Title:  "The model is asked for what it was told",
			Help:   "Arguments for the conversation or the system prompt send all of it to the server.",
			Advice: "Ask whether the tool needs that for what it does. If not, leave it out.",
		}, injection: true, text: matches(asksForContext, true)},
		{Rule: Rule{
			ID: "asks-for-secrets", Severity: High, Title: "The model is asked for secrets",
			Help:   "Text that makes the model read and send key files, configurations or credentials steals them. Text that only names such files is of low severity.",
			Advice: doNotUse,
		}, injection: true, text: matches(asksForSecrets, true)},
		{Rule: Rule{
			ID: "sends-data-out", Severity: High,
			Title:  "The model is told to send data to an address",
			Help:   "A definition has no reason to name an address to which the model should send data, or that replaces one that the user gave.",
			Advice: doNotUse,
		}, injection: true, text: matches(sendsDataOut, true)},
		{Rule: Rule{
			ID: "image-beacon", Severity: Medium, Title: "An image whose address carries data",
			Help:   "When a host renders the model's text, it fetches each image at once: data in the image's URL leaves the machine without a click.",
			Advice: "Do not render images that a model writes, and ask why the definition has one.",
		}, injection: true, text: matches(imageBeacons, false)},
		{Rule: Rule{
			ID: "encoded-text", Severity: High, Title: "Text in base64 or hexadecimal digits",
			Help:   "Models can read encoded text and people cannot, so it can hide instructions.",
			Advice: "Read the text that is encoded.",
		}, injection: true, text: encodedText},
		{Rule: Rule{
			ID: "suspicious-download", Severity: High,
			Title:  "A skill downloads and runs something",
			Help:   "A model follows a skill with the tools of its host. The digests of a skill do not cover its downloads, which may change at any time.",
			Advice: "Look at what is downloaded, and do not use the skill unless it can do without, or the download is pinned to a digest.",
		}, text: inSkill(matches(suspiciousDownloads, true))},
		{Rule: Rule{
			ID: "malicious-code", Severity: High, Title: "A skill has code that is typical of malware",
			Help:   "Reverse shells, encoded commands, stolen keys, deleted homes and back doors have no place in the instructions and scripts of a skill.",
			Advice: doNotUse,
		}, text: inSkill(matches(malware, true))},
		{Rule: Rule{
			ID: "insistence", Severity: Info, Title: "Insistent wording",
			Help:   "\"You must\" and words in upper case are common, also in harmless descriptions. Beside other findings they are suspicious.",
			Advice: "If the tool has no other finding, nothing needs to be done.",
		}, text: matches(insistence, false)},
		{Rule: Rule{
			ID: "shadowing", Severity: High, Title: "Text about the tools of another server",
			Help:   "All definitions are read by one model. Text of one server about the tools of another changes how those are used (tool shadowing).",
			Advice: "Do not use the two servers together, unless they are made for it.",
		}, injection: true, text: shadowing},
		{Rule: Rule{
			ID: "same-name", Severity: Medium, Title: "Two tools with the same name",
			Help:   "If a host does not distinguish names by server, chance or the order of the servers decides which tool is called.",
			Advice: "Use a host that puts the server's ID before the names, or leave one of the tools out.",
		}, scanner: sameName},
		{Rule: Rule{
			ID: "near-name", Severity: Medium, Title: "Names that are easily confused",
			Help:   "Names that differ in one letter, or only look the same, make models and people call the wrong tool.",
			Advice: "Check whether one of the servers imitates the other. If not, nothing needs to be done.",
		}, scanner: nearName},
		{Rule: Rule{
			ID: "hint-contradiction", Severity: High, Title: "A destructive name without the hint",
			Help: "Hosts decide by destructiveHint and readOnlyHint whether to ask before a call. A destructive tool whose hints " +
				"say otherwise is called without asking.",
			Advice: "Have the host ask before each call of the tool, whatever its hints say.",
		}, definition: hintContradiction},
		{Rule: Rule{
			ID: "toxic-flow", Severity: Medium, Title: "Tools that together can carry data away",
			Help: "If a model can read text by strangers, read private data, and send something out, then a stranger's text can make it send the private " +
				"data out. None of the tools has to be malicious. What they do is guessed from their names, arguments and hints.",
			Advice: "Do not use the tools in one conversation, or have the host ask before each call of the one that sends.",
		}, scanner: toxicFlow},
		{Rule: Rule{
			ID: "remote-schema", Severity: Medium,
			Title:  "A schema that refers to another document",
			Help:   "A $ref to a URL lets the host of the URL change a definition after its review, and see who reads it.",
			Advice: "Do not fetch it. Ask the server's maker to put it into the schema.",
		}, text: remoteSchema},
		{Rule: Rule{
			ID: "context-parameter", Severity: Medium,
			Title:  "An argument that asks for what the model was told",
			Help:   "Models fill an argument such as conversation_history by its name, even if it has no description.",
			Advice: "Ask what it is for. If the tool does not need it, leave the tool out.",
		}, definition: contextParameters},
		{Rule: Rule{
			ID: "secret-in-config", Severity: Medium, Title: "A secret in a configuration",
			Help:   "Secrets in configurations are copied, committed and backed up with them; every process of the machine can see those on command lines.",
			Advice: "Keep it in the environment or a store of secrets, refer to it as ${NAME}, and replace it if others have seen it.",
		}, config: configSecrets},
		{Rule: Rule{
			ID: "weakened-annotation", Severity: Medium,
			Title:  "A tool that your configuration makes look safer than its server says",
			Help:   "Hosts ask before they call a tool that may destroy or change things, or that reaches other systems, by its annotations. The overrides of the configuration replace them.",
			Advice: "Look at what the tool does, and remove the annotation from the overrides unless the server is wrong.",
		}, config: weakenedAnnotations},
		{Rule: Rule{
			ID: "app-access", Severity: Medium, Title: "A page that requests much access",
			Help:   "A host may grant the page of an app its requests: the camera, the microphone, the location, and the origins that it connects to.",
			Advice: "Ask what the page needs it for, and do not grant the rest.",
		}, app: appAccess},
		{Rule: Rule{
			ID: "app-foreign-origin", Severity: Medium,
			Title:  "A page that uses an origin that it does not declare",
			Help:   "A host should block origins that the metadata of an app does not declare. If it does not, the page can load scripts from them, or send data to them.",
			Advice: "Ask the server's maker why. Use apps only with a host that enforces the policy.",
		}, app: appOrigins},
		{Rule: Rule{
			ID: "app-blocked-script", Severity: Low,
			Title:  "A page with scripts that its policy does not allow",
			Help:   "The security policy of apps allows the scripts in the page, but neither code generated from text nor code in URLs. A page can hide its purpose from a reviewer with such code.",
			Advice: "Look at what the code does.",
		}, app: appScripts},
		{Rule: Rule{
			ID: "malformed-definition", Severity: Medium,
			Title:  "A definition that is malformed or ambiguous",
			Help:   "Programs differ in how they read a duplicate member: a reviewer may see another value than the model.",
			Advice: "Leave it out.",
		}, definition: malformedDefinition},
		{Rule: Rule{
			ID: "unportable-tool", Severity: Info,
			Title:  "A tool that some hosts or models refuse",
			Help:   "The APIs of models take names of up to 64 letters, digits, '_' and '-', and a part of JSON Schema. Some clients refuse all tools of a server for one schema.",
			Advice: "Ask the server's maker to change it. stdwire serve repairs a schema whose meaning is clear.",
		}, definition: unportableTool},
		{Rule: Rule{
			ID: "costly-tools", Severity: Low,
			Title:  "Tools that take much of a model's context",
			Help:   "Applications that do not search for tools send all definitions to the model, in every conversation. That costs money and time, and a model selects worse among many.",
			Advice: "Leave out tools that are not needed (\"tools\" in the configuration), or let models search for them; stdwire ls --cost shows what each costs.",
		}, scanner: costlyTools},
		{Rule: Rule{
			ID: ruleTooLarge, Severity: Medium, Title: "More than the scan reads",
			Help:   "Content beyond the limits was not checked. No honest definition is that large.",
			Advice: "Review the rest yourself, or leave the definition out.",
		}},
	}
}

// camel converts an ID to the form of rule names in SARIF, such as HiddenUnicode.
func camel(id string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(id, "-") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
