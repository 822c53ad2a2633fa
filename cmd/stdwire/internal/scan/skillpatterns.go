package scan

import "sync"

const (
	fetching = `\b(?:curl|wget|fetch|iwr|irm|invoke-webrequest|invoke-restmethod|downloadstring|certutil|bitsadmin)\b`
	running  = `(?:\w*/)*(?:env )?(?:sudo (?:-\w+ )*)?(?:\w*/)*(?:ba|z|da|k|fi)?sh\b|(?:\w*/)*(?:env )?(?:sudo )?(?:python[0-9.]*|perl|ruby|node|php|deno|iex|invoke-expression)\b`
)

var suspiciousDownloads = sync.OnceValue(func() []pattern {
	return []pattern{
		phrase(High, "a download is run without a review",
			"curl|wget|fetch|iwr|irm|invoke-|downloadstring",
			fetching+`[^\n|]{0,300}?\|\s*(?:`+running+`)|`+
				`(?:\b(?:ba|z|da|k)?sh|\beval|\bsource)\b[^\n]{0,40}?(?:\$\(|<\(|`+"`"+`)\s*(?:curl|wget)\b|`+
				`\b(?:iex|invoke-expression)\b[^\n]{0,80}?(?:iwr|irm|invoke-webrequest|invoke-restmethod|downloadstring)`),
		phrase(High, "a program is downloaded from an address without a name",
			"http://|https://",
			fetching+`[^\n]{0,200}?https?://(?:\d{1,3}\.){3}\d{1,3}\b`).excluding(
			`//(?:127\.|10\.|192\.168\.|0\.0\.0\.0)`),
		phrase(High, "a download comes from a place for texts or short addresses, whose content may change",
			"pastebin|rentry|ghostbin|hastebin|bit.ly|tinyurl|t.co|is.gd|transfer.sh|file.io|anonfiles|discord",
			`https?://(?:www\.)?(?:pastebin\.com/raw|rentry\.co|ghostbin\.\w+|hastebin\.com/raw|bit\.ly|tinyurl\.com|t\.co|is\.gd|transfer\.sh|file\.io|`+
				`anonfiles\.com|cdn\.discordapp\.com)/`),
		phrase(Medium, "an archive with a password is to be opened: virus scanners cannot look into it",
			"password|passwd|-p",
			`\b(?:unzip -P|7z[ar]? (?:x|e) [^\n]{0,80}?-p|unrar (?:x|e) [^\n]{0,40}?-p)\S+|`+
				`\b(?:extract|unzip|unpack|open)\b[^.!?\n]{0,60}?\barchive\b[^.!?\n]{0,60}?\bpassword\b`),
		phrase(Medium, "a package is installed from an address", "http",
			`\b(?:pip3?|uv pip|npm|pnpm|yarn|gem|cargo|go) (?:install|i|add|get)\b[^\n]{0,80}?https?://|`+
				`\b(?:npx|uvx|bunx)\b[^\n]{0,40}?https?://`),
	}
})

var malware = sync.OnceValue(func() []pattern {
	return []pattern{
		phrase(Critical, "a shell is connected to another machine",
			"/dev/tcp|/dev/udp|nc |ncat|socat|netcat|bash -i",
			`/dev/(?:tcp|udp)/[\w.$-]+/|\b(?:nc|ncat|netcat)\b[^\n]{0,60}? -\w*[ec]\w* \S*(?:sh|cmd)\b|\bsocat\b[^\n]{0,80}?\bexec:|`+
				`\bbash -i >& `),
		phrase(High, "encoded text is run", "base64|frombase64|fromcharcode|b64decode|atob",
			`\bbase64\b[^\n|]{0,40}?(?:-d|-D|--decode)\b[^\n]{0,80}?\|\s*(?:`+running+`)|`+
				`\b(?:eval|exec|iex|invoke-expression)\b\s*\(?[^\n]{0,60}?(?:b64decode|base64|frombase64string|atob|fromcharcode)|`+
				`\bpowershell\b[^\n]{0,60}? -e(?:nc|ncodedcommand)? [a-z0-9+/=]{20}`),
		phrase(High, "files with secrets are sent away",
			"curl|wget|nc |scp|requests.post|fetch(",
			`(?:\bcurl\b[^\n]{0,120}?(?:-d|-F|-T|--data\S*|--form|--upload-file)[ =]?\S{0,20}@?|\bscp\b[^\n]{0,40}?|`+
				`\bcat\b[^\n|]{0,60}?)`+keys+`(?:[^\n]{0,80}?\|\s*(?:curl|nc|ncat|wget)\b)?`).excluding(
			`(?i)^cat\b[^|]*$`),
		phrase(High, "all files of the user are deleted", "rm |remove-item|mkfs|dd |del ",
			`\brm -(?:rf|fr|r -f|f -r)\w* (?:--no-preserve-root )?(?:/|(?:~|\$home)/?)\*?(?:[\s;&|"'`+"`"+`)]|$)|\bmkfs\.\w+ /dev/|\bdd\b[^\n]{0,40}?\bof=/dev/[sh]d|`+
				`:\(\)\s*\{\s*:\|:&\s*\};:`),
		phrase(High, "a back door into the machine is installed",
			"authorized_keys|crontab|launchagents|currentversion\\run|/etc/cron|systemctl|.bashrc|.zshrc|.profile",
			`>>? ?\S*(?:\.ssh/authorized_keys|/etc/cron|/etc/sudoers|LaunchAgents/)|\bcrontab -(?:\s|$)|\bcurrentversion\\run\b|`+
				`\becho\b[^\n]{0,200}?\b(?:curl|wget|nc|base64)\b[^\n]{0,200}?>> ?\S*\.(?:bashrc|zshrc|profile|bash_profile)\b`),
		phrase(Medium, "a protection of the system is turned off",
			"quarantine|spctl|setenforce|disablerealtime|executionpolicy|csrutil|defender",
			`\bxattr -\w*[dc]\w* com\.apple\.quarantine|\bspctl --master-disable|\bsetenforce 0|\bcsrutil disable|`+
				`-disablerealtimemonitoring\b|\bexecutionpolicy bypass\b`),
	}
})
