package scan

import (
	"regexp"
	"sync"
)

// The lists below are patterns of text that tries to steer a model. Of each list, the worst match
// counts.

var overrideInstructions = sync.OnceValue(func() []pattern {
	return []pattern{
		phrase(High, "the model is told to set other instructions aside", "ignor|disregard|forget",
			`\b(?:ignore|disregard|forget)(?: about)? ~3(?:previous|prior|above|earlier|preceding|other|original|your|all) ~2(?:instructions?|prompts?|rules|`+
				`guidelines|directives)\b`),
		phrase(High, "the model is told to set its rules aside", "overrid|bypass|circumvent",
			`\b(?:override|bypass|circumvent) ~2(?:(?:previous|prior|your|any|system|all) ~2(?:instructions?|prompts?|guidelines)|(?:your|safety|`+
				`content) ~1(?:rules|restrictions|filters?|polic(?:y|ies)))\b`),
		phrase(High, "the text claims to come before other instructions",
			"priority over|precedence over|supersede",
			`\b(?:takes?|has|have|with) ~2(?:priority|precedence) over ~4(?:instructions?|prompts?|messages?|requests?)\b|\bsupersedes? ~3(?:instructions?|`+
				`prompts?)\b`),
		phrase(Medium, "the model is told to be something else", "you are",
			`\byou are (?:now|no longer) (?:a|an|in|bound|restricted|the|called)\b`),
		phrase(Medium, "the text claims to be new instructions", "instruction",
			`\b(?:new|updated|real|actual|additional|secret|hidden) (?:system )?instructions?\s*:`),
		phrase(Medium, "the model is told not to heed the user", "user|human",
			`\b(?:regardless of|despite|no matter|even if|contrary to) ~2(?:the )?(?:user|human)(?:'s)? ~1(?:asks?|says?|wants?|requests?|instructions?|objects?|`+
				`specif(?:y|ies)|wishes)\b`),
	}
})

var concealFromUser = sync.OnceValue(func() []pattern {
	return []pattern{
		phrase(High, "the model is told to keep something from the user",
			"user|human|anyone|anybody|them",
			`\b(?:do not|don't|never|must not|mustn't|should not|shouldn't|cannot|without|avoid|refrain from|no need to) ~3(?:tell|telling|mention|mentioning|`+
				`inform|informing) ~7(?:users?|humans?|anyone|anybody|customers?|operators?|them)\b`),
		phrase(High, "the model is told to keep something to itself", "mention",
			`\b(?:do not|don't|never) mention (?:this|these|it|that you|the fact|anything|any of)\b`),
		phrase(High, "the model is told to keep something from the user", "user|human",
			`\b(?:do not|don't|never|must not|should not|without|no need to) ~1(?:notify|notifying|alert|alerting|warn|warning|reveal|revealing|disclose|show|`+
				`explain|report) (?:(?:the )?(?:users?|humans?) (?:about|of|that) (?:it|this|that|these|the fact|you)|(?:this|it|these) ~1to (?:the )?(?:users?|`+
				`humans?))\b`),
		phrase(Medium, "the user is not to know something", "user|human|person",
			`\b(?:user|human|person)s? ~1(?:should not|shouldn't|must not|mustn't|should never|must never|need not|needn't) (?:know about|be told|be aware|notice|`+
				`see this|find out|learn about|be informed|be notified)\b`),
		phrase(High, "something is to be done without the user's knowledge", "user|human",
			`\b(?:without|lest) (?:the )?(?:user|human)s?(?:'s?)? (?:knowledge|awareness|noticing|knowing|realizing|seeing|being told)\b`),
		phrase(High, "something is to be kept from the user", "keep|hide|conceal",
			`\b(?:keep|hide|conceal) (?:this|it|these|that|them|the fact) ~4(?:from (?:the )?(?:user|human)s?|secret)\b`),
		phrase(Medium, "something is to be done in secret",
			"secretly|covertly|surreptitiously|stealthily",
			`\b(?:secretly|covertly|surreptitiously|stealthily) \w`),
		phrase(Low, "something is not to be shown to the user", "user",
			`\b(?:do not|don't|never|must not) ~2(?:show|reveal|display|disclose|expose|explain|alert|warn|report) ~6users?\b`),
	}
})

var instructionTags = sync.OnceValue(func() []pattern {
	return []pattern{
		phrase(High, "a tag makes text look like instructions of the host or the user", "<",
			`<\s*/?\s*(?:important|secret|hidden|admin|sys|override|system(?:[-_ ]?(?:prompt|message|reminder|instructions?|override))?|(?:hidden|secret|admin|`+
				`important|priority)[-_ ]?\w+)\s*>`),
		phrase(High, "there are tokens that separate the roles of a conversation", "<|inst]|<<|_turn>",
			`<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|end|eot_id|start_header_id|end_header_id|begin_of_text)\|>|\[/?INST\]|<</?SYS>>|`+
				`<(?:start|end)_of_turn>`),
		phrase(Medium, "a tag makes text look like instructions of the host or the user",
			"<",
			`<\s*/?\s*(?:instructions?|critical|assistant|human|priority|attention|warning)\s*>`),
		phrase(Medium, "a heading makes text look like instructions of the host or the user",
			"system", `(?-i:(?:^|[.!?\n]\s*)SYSTEM(?: NOTE)?:)`),
		phrase(Medium, "a heading makes text look like instructions of the host or the user",
			"system",
			`(?:^|\n)[\s#>*\[]*system (?:prompt|message|instructions?|override|notice)\]?\**\s*:`),
	}
})

var toolPrecedence = sync.OnceValue(func() []pattern {
	return []pattern{
		phrase(Medium, "the model is told to use this before, or in place of, all other tools",
			"other|any|every|all",
			`\b(?:before|prior to|instead of|rather than|in place of) ~4(?:any|all|every|each|the) (?:of the )?other ~2(?:tools?|functions?|servers?)\b|`+
				`\b(?:before|instead of) ~4(?:any|every) (?:tools?|functions?)\b`),
		phrase(Medium, "the model is told what to do when other tools are used", "tool|function",
			`\b(?:whenever|every time|each time|any time|anytime|when) ~4(?:tools?|functions?) ~3(?:is|are|gets?) (?:called|used|invoked|executed|`+
				`available)\b`).excluding(`(?i)\bwhen\s+(?:this|the)\s+(?:tool|function)\s+is\b`),
		phrase(Medium, "the model is told not to use other tools", "other",
			`\b(?:do not|don't|never|must not|stop) (?:use|using|call|calling|invoke|invoking) (?:any )?other (?:\w+ )?(?:tools?|functions?|servers?)\b`),
		phrase(Low, "the model is told to use this first, or always", "first|always|every",
			`\b(?:must|always) ~2(?:be )?(?:call|called|use|used|invoke|invoked|run|execute|executed) ~4(?:first|before (?:any|every)|in every|on every|for every|`+
				`at the start of)\b`),
	}
})

const (
	giving = `\b(?:include|pass|provide|send|copy|paste|attach|put|append|prepend|insert|call|share|submit|summari[sz]e|repeat|reveal|output|print|write|` +
		`log|record|forward|extract|fill|supply|give)\b`
	nearby  = `[^.!?\n]{0,80}?`
	history = `(?:conversation|chat|dialog(?:ue)?)`
)

var asksForContext = sync.OnceValue(func() []pattern {
	return []pattern{
		phrase(High, "the model is asked for what it was told",
			"system prompt|system message|conversation|chat|dialog|context window|reasoning",
			giving+nearby+`\b(?:your|our|this|the current|the model's|the assistant's) ~2(?:system (?:prompt|message)|`+
				history+`(?: history| so far| log)?|`+
				`context window|chain[ -]of[ -]thought|internal reasoning)\b`),
		phrase(Medium, "the model is asked for what was said before",
			"conversation|chat|dialog|messages",
			giving+nearby+`\b(?:entire|full|whole|complete|all(?: of)?(?: the)?|previous|verbatim) ~1(?:`+
				history+`(?: history| log)?|(?:user|previous|`+
				`prior) messages)\b`),
		phrase(Low, "the text is about what was said before, or what the model was told",
			"system prompt|history|transcript",
			giving+nearby+`\b(?:system prompt|`+history+` (?:history|transcript))\b`),
	}
})

const (
	reading = `\b(?:read|open|cat|load|get|fetch|copy|send|include|pass|attach|provide|upload|access|extract|check|retrieve|steal|find|see)\b`
	keys    = `(?:[~\w$%./\\-]*(?:\bid_(?:rsa|ed25519|ecdsa|dsa)\b|\.ssh[/\\]|\.aws[/\\]credentials|\.gnupg\b|\.kube[/\\]config|\.docker[/\\]config\.json|` +
		`\.netrc\b|\.npmrc\b|\.pypirc\b|\.git-credentials\b|\.pgpass\b|\.(?:bash|zsh)_history\b|` +
		`wallet\.dat\b|\.(?:cursor|vscode|claude|codeium)[/\\]\S*\.json|claude_desktop_config\.json|\bmcp\.json\b)|/etc/(?:shadow|sudoers)\b)`
	secrets = `(?:api[ _-]?keys?|passwords?|passphrases?|credentials?|private keys?|secret keys?|secrets|access tokens?|auth(?:entication)? tokens?|` +
		`session (?:cookies?|tokens?)|environment variables|ssh keys?)`
)

var asksForSecrets = sync.OnceValue(func() []pattern {
	return []pattern{
		phrase(High, "the model is told to read files that have secrets in them",
			"id_|.ssh|.aws|.gnupg|.kube|.docker|.netrc|.npmrc|.pypirc|.git-c|.pgpass|_history|wallet.dat|.json|/etc/",
			reading+`[^!?\n]{0,80}?`+keys),
		phrase(High, "the model is told to read secrets and pass them on",
			".env|/etc/passwd|api|password|credential|token|secret",
			reading+`[^!?\n]{0,60}?(?:\.env\b|/etc/passwd\b|\b(?:api[ _-]?keys?|passwords?|credentials)\b)[^!?\n]{0,40}?\b(?:and|then)(?: then)? ~2(?:include|`+
				`send|pass|attach|put|forward|paste|upload|append|post|transmit|copy)\b`),
		phrase(Medium, "the model is asked for the user's secrets", "user",
			giving+nearby+`\b(?:user|human|owner|customer)(?:'s|s') ~2`+secrets+`\b|`+giving+nearby+
				`\b(?:user|human)(?:'s|s') (?:private|secret|hidden|personal|`+
				`sensitive) ~1(?:files?|keys?|data|director(?:y|ies)|folders?|documents?)\b`),
		phrase(Medium, "the model is asked for a file that has secrets in it", ".env",
			`\b(?:send|include|attach|forward|upload|paste)\b`+nearby+"[\\s\"'`/]\\.env\\b"),
		phrase(Medium, "the model is asked for all secrets that there are", "all|any|every|content",
			`\b(?:include|pass|send|copy|attach|collect|gather|share|forward|reveal|extract|upload)\b`+
				nearby+`\b(?:all|any|every)(?: of)?(?: the|`+
				` your)? ~1`+secrets+`\b|`+giving+nearby+`\bcontents? of ~3\.env\b`),
		phrase(Low, "the text names files that have secrets in them",
			"id_|.ssh|.aws|.gnupg|.kube|.docker|.netrc|.npmrc|.pypirc|.git-c|.pgpass|_history|wallet.dat|.json|/etc/|.env",
			keys+"|(?:^|[\\s\"'`(/])\\.env\\b|/etc/passwd\\b"),
	}
})

const sending = `\b(?:send|post|upload|forward|transmit|exfiltrate|submit|report|deliver|leak|append|pipe|curl|ping)\b`

var sendsDataOut = sync.OnceValue(func() []pattern {
	return []pattern{
		phrase(High, "the model is told to send data to an address", "http",
			sending+`[^!?\n]{0,80}?\b(?:conversation|chat|contents?|results?|files?|data|keys?|tokens?|secrets?|everything|history|responses?|outputs?|messages?|`+
				`prompts?|credentials?|it|them|copy|values?)\b[^!?\n]{0,80}?\b(?:to|at|via)\s*:? `+
				"[<\"'`(]?https?://"),
		phrase(High, "the model is told to redirect something", "to",
			`\b(?:change|set|replace|modify|redirect|rewrite|switch)\b`+nearby+
				`\b(?:recipient|destination|payee|beneficiary|account|address|number|iban|`+
				`wallet)\b[^.!?\n]{0,40}?\b(?:to|with) (?:\+?\d[\d -]{6,}\d|[\w.+-]+@[\w-]+\.\w|https?://|0x[0-9a-f]{8,})`).excluding(
			`(?i)@example\.|` +
				`//(?:www\.)?example\.`),
		phrase(High, "the model is told to send copies of mail", "bcc|cc",
			`\b(?:always|must|also|silently|every) ~3b?cc ~3[\w.+-]+@[\w-]+\.\w`),
		phrase(Medium, "the model is told to send something to an address", "@",
			sending+nearby+`\bto ~1[\w.+-]+@[\w-]+\.[a-z]+`).excluding(
			`(?i)@(?:[\w-]+\.)*example(?:\.|$)|@(?:company|domain|test|email)\.`),
		phrase(Low, "the text says that something is sent to an address", "http", sending+
			`[^.!?\n]{0,60}?\b(?:to|at|via)\s*:? `+"[<\"'`(]?https?://"),
	}
})

var imageBeacons = sync.OnceValue(func() []pattern {
	return []pattern{
		phrase(High, "there is an image whose URL has room for data: rendering the image sends the data",
			"](",
			`!\[[^\]]{0,200}\]\(\s*<?(?:https?:)?//[^)\s]*\?[^)\s]*(?:[{$<\[%]|=\)|=>|\b(?:your|data|secret|conversation|prompt)[_ )])`),
		phrase(Medium, "there is an image whose URL has parameters: rendering the image sends them",
			"](", `!\[[^\]]{0,200}\]\(\s*<?(?:https?:)?//[^)\s]*\?[^)\s]*`),
		phrase(Medium, "there is an image whose URL has parameters: rendering the image sends them",
			"<img",
			`<img\b[^>]{0,300}\bsrc\s*=\s*["']?(?:https?:)?//[^\s>]*\?`),
	}
})

// insistence matches upper case, unlike the patterns of phrase.
var insistence = sync.OnceValue(func() []pattern {
	return []pattern{{
		Info, "the text is insistent; ordinary documentation may be too",
		[]string{"must", "important", "critical", "always", "never", "mandatory", "urgent",
			"have to"},
		regexp.MustCompile(
			`\b[Yy](?:ou|OU) (?:must|MUST|have to)\b|\b(?:IMPORTANT|CRITICAL|MANDATORY|URGENT|ALWAYS|NEVER|MUST)\b`),
		nil,
	}}
})
