package command

import (
	"fmt"
	"strings"
)

const helpWidth = 80

// usage prints what the program is and its commands.
func (p *process) usage() {
	c := p.catalog
	fmt.Fprintf(p.out, "%s: an MCP gateway. Contract %s, %d tools.\n\nUsage: %s COMMAND [SETTINGS]\n\nCommands:\n", c.Server.Title, c.ContractVersion, len(c.Tools), c.Server.Name)
	for _, cmd := range commands {
		fmt.Fprintf(p.out, "  %-9s %s\n", cmd.name, cmd.help)
	}
	fmt.Fprintf(p.out, "\n%s\n", wrap(fmt.Sprintf("`%[1]s COMMAND --help` shows a command's settings. A setting is taken from its flag, else its environment variable, "+
		"else the configuration file, else its default. The personal access token comes from %[2]s_TOKEN or the file named by %[2]s_TOKEN_FILE, "+
		"over HTTP from each request, and never from a flag: command lines are visible to others.", c.Server.Name, c.EnvPrefix), ""))
	fmt.Fprintf(p.out, "\nConfiguration file: %s or --config FILE or %s_CONFIG.\n", displayConfigPath(c), c.EnvPrefix)
}

// usageOf prints one command's settings.
func (p *process) usageOf(cmd *command, s *settings) {
	fmt.Fprintf(p.out, "%s\n\nUsage: %s %s\n", cmd.help, p.catalog.Server.Name, strings.Join(strings.Fields(cmd.name+" "+cmd.positional+" [SETTINGS]"), " "))
	if cmd.more != "" {
		fmt.Fprintf(p.out, "\n%s\n", wrap(cmd.more, ""))
	}
	fmt.Fprint(p.out, "\nSettings:\n")
	for _, r := range s.rows {
		head := "--" + r.name
		if r.placeholder != "" {
			head += " " + r.placeholder
		}
		text := r.help
		if !r.flagOnly {
			text += " (" + s.variable(r)
			if r.fallback != "" {
				text += ", default " + r.fallback
			}
			text += ")"
		}
		fmt.Fprintf(p.out, "  %s\n%s\n", head, wrap(text, "        "))
	}
	p.usageOfVariables(s)
	fmt.Fprintf(p.out, "  --config FILE\n%s\n", wrap(fmt.Sprintf("YAML file with settings; its keys are %s. (%s_CONFIG, default %s if it exists)",
		strings.Join(append([]string{"the flags' names with _ for -"}, argumentKeys(p.catalog)...), ", "), p.catalog.EnvPrefix, displayConfigPath(p.catalog)), "        "))
}

// usageOfVariables prints what a command reads that has no flag.
func (p *process) usageOfVariables(s *settings) {
	prefix := p.catalog.EnvPrefix
	if s.has("token-file") {
		fmt.Fprintf(p.out, "  (%s_TOKEN)\n%s\n", prefix, wrap("The personal access token; a variable or a file, never a flag.", "        "))
	}
	if !s.has("api-url") {
		return
	}
	for _, d := range p.catalog.Defaults {
		fmt.Fprintf(p.out, "  (%s)\n%s\n", d.Env, wrap("Default of the argument "+d.Argument+"; "+d.ConfigKey+" in the configuration file.", "        "))
	}
	fmt.Fprintf(p.out, "  (GOGC, GOMEMLIMIT)\n%s\n", wrap("The collector's settings; GOGC is 400 when neither is set.", "        "))
}

// wrap breaks text into lines of at most helpWidth characters.
func wrap(text, indent string) string {
	var b strings.Builder
	width := 0
	for _, word := range strings.Fields(text) {
		switch {
		case width == 0:
			b.WriteString(indent)
			width = len(indent)
		case width+1+len(word) > helpWidth:
			b.WriteString("\n" + indent)
			width = len(indent)
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += len(word)
	}
	return b.String()
}
