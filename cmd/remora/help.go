package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// sectionKey is the annotation that has a flag's section in the help.
const sectionKey = "remora_section"

// section puts flags under a heading of the help, behind those that matter most, which
// have none.
func section(f *pflag.FlagSet, title string, names ...string) {
	for _, name := range names {
		if err := f.SetAnnotation(name, sectionKey, []string{title}); err != nil {
			panic(err)
		}
	}
}

// usage writes the second half of the help: how a command is called, its commands by
// group and its flags by section.
func (a *app) usage(cmd *cobra.Command) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	rest := &cobra.Group{Title: "Commands"}
	if len(cmd.Groups()) != 0 {
		rest.Title = "Other commands"
	}
	for _, group := range append(slices.Clone(cmd.Groups()), rest) {
		writeCommands(&b, cmd, group)
	}
	a.writeFlags(&b, cmd)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nTry '%s COMMAND --help'.\n", cmd.CommandPath())
	}
	_, err := io.WriteString(cmd.OutOrStderr(), b.String())
	return err
}

func writeCommands(b *strings.Builder, cmd *cobra.Command, group *cobra.Group) {
	title := "\n" + group.Title + ":\n"
	for _, sub := range cmd.Commands() {
		if sub.GroupID == group.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
			fmt.Fprintf(b, "%s  %-*s  %s\n", title, cmd.NamePadding(), sub.Name(), sub.Short)
			title = ""
		}
	}
}

// writeFlags writes the flags in the order in which they were defined.
func (a *app) writeFlags(b *strings.Builder, cmd *cobra.Command) {
	const first, last = "Flags", "Global flags"
	cmd.Flags().SortFlags = false
	titles, sets := []string{first}, map[string]*pflag.FlagSet{}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		title := first
		if s := f.Annotations[sectionKey]; len(s) != 0 {
			title = s[0]
		}
		if f.Name == "help" || cmd.PersistentFlags().Lookup(f.Name) != nil {
			title = last
		}
		addFlag(sets, title, f)
		if title != last && !slices.Contains(titles, title) {
			titles = append(titles, title)
		}
	})
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { addFlag(sets, last, f) })
	for _, title := range append(titles, last) {
		if set := sets[title]; set != nil {
			fmt.Fprintf(b, "\n%s:\n%s", title, set.FlagUsagesWrapped(a.width()))
		}
	}
}

func addFlag(sets map[string]*pflag.FlagSet, title string, f *pflag.Flag) {
	if sets[title] == nil {
		sets[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
		sets[title].SortFlags = false
	}
	f.DefValue = plainDefault(f)
	sets[title].AddFlag(f)
}

// plainDefault is the default of a flag as a user would write it. pflag prints slices in
// brackets, with all digits of a float, and some zeros.
func plainDefault(f *pflag.Flag) string {
	text := f.DefValue
	switch f.Value.Type() + " " + text {
	case "float64Slice []", "durationSlice []", "SIZE 0 B":
		return ""
	}
	if _, list := f.Value.(pflag.SliceValue); !list || text == "[]" {
		return text
	}
	items := strings.Split(strings.Trim(text, "[]"), ",")
	for i, item := range items {
		if strings.Contains(item, ".") && strings.Trim(item, "0123456789.") == "" {
			items[i] = strings.TrimSuffix(strings.TrimRight(item, "0"), ".")
		}
	}
	return strings.Join(items, ",")
}

// width is that of the terminal, if the output is one.
func (a *app) width() int {
	const usual, most = 96, 120
	if f, ok := a.out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w >= 40 {
			return min(w, most)
		}
	}
	return usual
}
