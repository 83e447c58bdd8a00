"""Writes manual pages from the descriptions of commands that swift-argument-parser gives."""
import json
import subprocess


def program_help(program):
    """The description of a program's commands."""
    text = subprocess.run(
        [str(program), "--experimental-dump-help"], check=True, text=True, capture_output=True).stdout
    return json.loads(text)["command"]


def manual_page(command, version):
    """The page of a program with all of its commands, in roff (man(7))."""
    name = command["commandName"]
    abstract = command.get("abstract", "").rstrip(".") or name
    lines = [f'.TH {name.upper()} 1 "" "{name} {version}" "User Commands"', ".SH NAME",
             f"{name} \\- {escaped(abstract[:1].lower() + abstract[1:])}", ".SH SYNOPSIS", f".B {name}",
             ".RI [ command ]", ".RI [ options ]"]
    if command.get("discussion"):
        lines += [".SH DESCRIPTION"] + paragraphs(command["discussion"])
    lines += [".SH COMMANDS"]
    for sub in visible(command.get("subcommands", [])):
        lines += section(sub, [name])
    lines += options(command)
    lines += [".SH SEE ALSO", "The documentation of Peal, in its repository under docs/."]
    return "\n".join(lines) + "\n"


def visible(items):
    return [item for item in items if item.get("commandName") != "help" and item.get("shouldDisplay", True)]


def section(command, path):
    path = path + [command["commandName"]]
    lines = [f'.SS "{escaped(" ".join(path))}"']
    if command.get("abstract"):
        lines += paragraphs(command["abstract"])
    if command.get("discussion"):
        lines += [".PP"] + paragraphs(command["discussion"])
    lines += arguments(command)
    for sub in visible(command.get("subcommands", [])):
        lines += section(sub, path)
    return lines


def options(command):
    shown = arguments(command)
    return [".SH OPTIONS"] + shown if shown else []


def arguments(command):
    lines = []
    for argument in visible(command.get("arguments", [])):
        lines += [".TP", head(argument), escaped((argument.get("abstract") or "") + values(argument))]
    return lines


def values(argument):
    """The values and the default, as the help shows them."""
    notes = []
    if argument.get("allValues"):
        notes.append("values: " + ", ".join(argument["allValues"]))
    if argument.get("defaultValue"):
        notes.append("default: " + argument["defaultValue"])
    return f" ({'; '.join(notes)})" if notes else ""


def head(argument):
    value = argument.get("valueName") or "value"
    if argument["kind"] == "positional":
        return f".I {escaped(value)}"
    names = []
    for name in argument.get("names", []):
        dashes = "\\-" if name["kind"] == "short" else "\\-\\-"
        names.append(f"\\fB{dashes}{escaped(name['name'])}\\fR")
    suffix = "" if argument["kind"] == "flag" else f" \\fI{escaped(value)}\\fR"
    return ", ".join(names) + suffix


def paragraphs(text):
    """Every line begins a line of the page. Long ones are filled, except indented ones, which are examples."""
    lines, is_example = [], False
    for line in text.splitlines():
        if line.startswith("  ") != is_example:
            is_example = not is_example
            lines.append(".nf" if is_example else ".fi")
        elif not is_example and lines and lines[-1] != ".PP" and line.strip():
            lines.append(".br")
        lines.append(escaped(line) if line.strip() else ".PP")
    return lines + [".fi"] if is_example else lines


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    # A dot or an apostrophe at the beginning of a line is a request.
    return "\\&" + text if text[:1] in (".", "'") else text
