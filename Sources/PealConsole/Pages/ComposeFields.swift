internal import PealCore

/// The inputs of Compose, in the order in which people think: who, what, when.
struct ComposeFields: Sendable {
    let call: PageCall
    let form: ComposeForm
    let topics: [String]
    let segments: [String]
    let error: PealError?

    private var texts: Texts { call.texts }

    private func field(
        _ name: String, _ label: Word, _ kind: Field.Kind = .text, hint: Word? = nil, more: HTML = .empty
    ) -> HTML {
        Field(
            name: name, label: texts[label], kind: kind, value: form.form.raw(name), hint: hint.map { texts[$0] },
            error: texts.message(error, at: name), more: more
        ).html
    }

    var html: HTML {
        """
        <section class="card"><h2>\(texts[.audience])</h2>
        \(field("topics", .topics, hint: .topicsHint, more: " list=\"topic-names\" autocomplete=\"off\" spellcheck=\"false\""))
        <datalist id="topic-names">\(HTML.each(topics) { "<option value=\"\(Form.listed($0))\"></option>" })</datalist>
        \(field("all", .everybodyBox, .check))
        \(rows)
        <details\(if: isOpen(["segments", "users", "devices", "not_topics", "where", "platforms"]), " open")>\
        <summary>\(texts[.moreAudience])</summary>
        \(field("segments", .segments, hint: .segmentsHint, more: " list=\"segment-names\" spellcheck=\"false\""))
        <datalist id="segment-names">\(HTML.each(segments) { "<option value=\"\(Form.listed($0))\"></option>" })</datalist>
        \(field("users", .users, .area(rows: 2), hint: .usersHint, more: " spellcheck=\"false\""))
        \(field("devices", .deviceIDs, .area(rows: 2), more: " spellcheck=\"false\""))
        \(field("not_topics", .exceptTopics, more: " spellcheck=\"false\""))
        \(field("where", .condition, .area(rows: 2), hint: .conditionHint, more: " spellcheck=\"false\" class=\"code\""))
        \(platforms)
        </details></section>
        <section class="card"><h2>\(texts[.content])</h2>
        \(field("title", .title, more: " maxlength=\"1000\""))
        \(field("body", .body, .area(rows: 3)))
        <details\(if: isOpen((2...form.translationCount).map { "locale_\($0)" } + ["default_locale"]), " open")>\
        <summary>\(texts[.translations])</summary>
        \(field("default_locale", .defaultLocale, hint: .defaultLocaleHint))
        \(HTML.each(2...form.translationCount, translation))
        </details>
        <details\(if: isOpen(["subtitle", "image_url", "data", "badge", "sound", "thread_id", "category"]), " open")><summary>\(texts[.moreContent])</summary>
        \(field("subtitle", .subtitle))
        \(field("image_url", .image, hint: .imageHint))
        \(field("data", .data, .area(rows: 3), hint: .dataHint, more: " spellcheck=\"false\" class=\"code\""))
        \(field("badge", .badge, more: " inputmode=\"numeric\""))
        \(field("sound", .sound))
        \(field("thread_id", .threadID, hint: .threadIDHint))
        \(field("category", .category, hint: .categoryHint))
        </details>
        <details\(if: isOpen(ComposePlatforms.fieldNames), " open")><summary>\(texts[.platformFields])</summary>
        <p class="hint">\(texts[.platformFieldsHint])</p>
        \(HTML.each(Platform.addressable, platformFields))
        </details></section>
        <section class="card"><h2>\(texts[.delivery])</h2>
        \(field("at", .sendAt, .moment, hint: .sendAtHint))
        \(field("time_zone", .timeZone, more: " list=\"zones\" data-zone spellcheck=\"false\""))
        \(field("recipient_time", .recipientsTime, .check, hint: .recipientsTimeHint))
        \(field("transactional", .transactional, .check, hint: .transactionalHint))
        \(field("rate_per_second", .rateLimit, hint: .rateLimitHint, more: " inputmode=\"numeric\""))
        <details\(if: isOpen(["window_until"]), " open")><summary>\(texts[.windowSummary])</summary>
        \(field("window_until", .windowEnd, .moment, hint: .windowHint))
        \(field("method", .windowMethod, .choice([("ab_test", texts[.methodExperiment]), ("context_aware", texts[.methodAware]), ("traditional", texts[.methodTraditional])])))
        \(field("unreachable", .unreachable, .choice([("deadline", texts[.unreachableDeadline]), ("best_hour", texts[.unreachableBestHour]), ("now", texts[.unreachableNow])]), hint: .unreachableHint))
        </details>
        <details\(if: isOpen(["campaign_id", "priority", "collapse_key", "ttl", "background", "environment"]), " open")>\
        <summary>\(texts[.moreDelivery])</summary>
        \(field("campaign_id", .campaign, hint: .campaignHint))
        \(field("priority", .priority, .choice([("", "–"), ("high", texts[.high]), ("normal", texts[.normal]), ("low", texts[.low])])))
        \(field("ttl", .lifetime, more: " inputmode=\"numeric\""))
        \(field("ttl_unit", .lifetimeUnit, .choice(ComposeForm.lifeUnits.map { ($0.name, texts[$0.word]) })))
        \(field("collapse_key", .collapseKey, hint: .collapseKeyHint))
        \(field("background", .background, .check, hint: .backgroundHint))
        \(field("environment", .environment, .choice([("", "–"), ("production", "production"), ("sandbox", "sandbox")]), hint: .environmentHint))
        </details></section>
        """
    }

    private func isOpen(_ names: [String]) -> Bool { names.contains { form.form[$0] != nil || error?.field == $0 } }

    /// One more row than is filled in, and at least as many as the user has added.
    private var rows: HTML {
        let filled = ComposeRows(form.form).rows
        let asked = Int(form.form["rows"] ?? "") ?? 0
        let count = min(ComposeRows.rowsMax, max(filled.count + (asked > filled.count ? 0 : 1), asked, 1))
        return """
            <fieldset class="rows" id="rows"><legend>\(texts[.rowsLegend])</legend><p class="hint">\(texts[.rowsHint])</p>
            \(HTML.each(1...count) { row($0, $0 <= filled.count ? filled[$0 - 1] : ComposeRows.Row()) })
            <input type="hidden" name="rows" value="\(count)">
            \(HTML.when(count < ComposeRows.rowsMax, "<button class=\"small\" name=\"step\" value=\"rows\" formaction=\"\(call.link("compose"))#rows\" formnovalidate>\(texts[.addRow])</button>"))
            </fieldset>
            """
    }

    private func row(_ number: Int, _ row: ComposeRows.Row) -> HTML {
        let name = "row\(number)"
        let label = texts(.rowNumber, String(number))
        let problem = texts.message(error, at: "\(name)_value")
        let kinds = ComposeRows.Kind.allCases.map { ($0.rawValue, texts.kind($0)) }
        return """
            <div class="rule\(if: problem != nil, " wrong")" role="group" aria-label="\(label)">
            \(HTML.when(number > 1, choice("\(name)_join", texts[.rowJoin], [("and", texts[.and]), ("or", texts[.or])], row.isAlternative ? "or" : "and")))\
            <label class="tick"><input type="checkbox" name="\(name)_not" value="1"\(if: row.isNegated, " checked")> \(texts[.not])</label>\
            \(choice("\(name)_kind", texts[.rowKind], kinds, row.kind.rawValue))\
            <input type="text" dir="auto" name="\(name)_value" value="\(row.value)" aria-label="\(texts[.value])" \
            spellcheck="false" autocomplete="off"\
            \(if: problem != nil, " aria-invalid=\"true\" aria-describedby=\"\(name)-error\"")>\
            \(HTML.with(problem) { "<p class=\"error\" id=\"\(name)-error\">\($0)</p>" })</div>
            """
    }

    private func choice(_ name: String, _ label: String, _ options: [(String, String)], _ value: String) -> HTML {
        """
        <select name="\(name)" aria-label="\(label)">\(HTML.each(options) { option in
            "<option value=\"\(option.0)\"\(if: option.0 == value, " selected")>\(option.1)</option>"
        })</select>
        """
    }

    private var platforms: HTML {
        let chosen = form.form.all("platforms")
        return """
            <fieldset class="field"><legend>\(texts[.onlyPlatforms])</legend><div class="boxes">\
            \(HTML.each(Platform.addressable) { platform in
                """
                <label><input type="checkbox" name="platforms" value="\(platform.rawValue)"\
                \(if: chosen.contains(platform.rawValue), " checked")> \(texts.platform(platform))</label>
                """
            })</div></fieldset>
            """
    }

    private func platformFields(_ platform: Platform) -> HTML {
        let own = ComposePlatforms.shortcuts.filter { $0.platform == platform }
        let json = Field(
            name: platform.rawValue, label: texts(.platformObject, texts.platform(platform)), kind: .area(rows: 2),
            value: form.form.raw(platform.rawValue),
            error: texts.message(error, at: platform.rawValue),
            more: " spellcheck=\"false\" class=\"code\" placeholder=\"\(ComposePlatforms.example(platform))\"")
        return """
            <fieldset class="translation"><legend>\(texts.platform(platform))</legend>
            \(HTML.each(own) { shortcut in
                shortcut.choices.isEmpty
                    ? field(shortcut.name, shortcut.label)
                    : field(shortcut.name, shortcut.label, .choice(([""] + shortcut.choices).map { ($0, $0.isEmpty ? "–" : $0) }))
            })\(json.html)</fieldset>
            """
    }

    private func translation(_ number: Int) -> HTML {
        """
        <fieldset class="translation"><legend>\(texts(.translation, String(number - 1)))</legend>
        \(field("locale_\(number)", .locale))\(field("title_\(number)", .translatedTitle))\
        \(field("subtitle_\(number)", .translatedSubtitle))\(field("body_\(number)", .translatedBody, .area(rows: 2)))
        </fieldset>
        """
    }
}
