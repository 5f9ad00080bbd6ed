//! One module: its imports and exports, and its code without them.

use anyhow::{Result, bail, ensure};

use crate::tokens::{Gap, Kind, Token, tokens};

/// A module that was taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Module {
    pub(crate) imports: Vec<Import>,
    /// The names of the exported functions, classes and constants.
    pub(crate) exports: Vec<String>,
    /// The code without comments, indentation, imports and the word `export`.
    pub(crate) code: String,
}

/// `import { name as local } from 'from'`, or `import 'from'` without names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Import {
    pub(crate) from: String,
    /// Each name in the other module, with the name here.
    pub(crate) names: Vec<(String, String)>,
}

/// Takes a module apart. Refuses every form of `import` and `export` that the bundle would not treat as a browser does.
pub(crate) fn parse(text: &str) -> Result<Module> {
    let tokens = tokens(text)?;
    let mut module = Module {
        imports: Vec::new(),
        exports: Vec::new(),
        code: String::new(),
    };
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let rest = &tokens[at..];
        let is_property = at > 0 && tokens[at - 1].text == ".";
        let is_keyword = token.kind == Kind::Word && !is_property;
        if is_keyword && token.text == "import" {
            let (import, length) = import(rest)?;
            module.imports.push(import);
            at += length;
        } else if is_keyword && token.text == "export" {
            module.exports.push(export(rest)?);
            module.code.push('\n');
            at += 1;
        } else if is_keyword && token.text == "await" && token.depth == 0 {
            bail!("`await` at the top of a module: the bundle makes a plain function of a module");
        } else {
            append(&mut module.code, token);
            at += 1;
        }
    }
    module.code = module.code.trim().to_owned();
    Ok(module)
}

fn append(code: &mut String, token: &Token<'_>) {
    match token.gap {
        Gap::Line if !code.ends_with('\n') => code.push('\n'),
        Gap::Space if !code.ends_with('\n') => code.push(' '),
        _ => {}
    }
    code.push_str(token.text);
}

/// Reads an import; returns it with the number of its tokens.
fn import(tokens: &[Token<'_>]) -> Result<(Import, usize)> {
    let mut names = Vec::new();
    let mut at = 1;
    if text(tokens, at) == "{" {
        at += 1;
        while text(tokens, at) != "}" {
            let name = word(tokens, at)?;
            at += 1;
            let mut local = name.clone();
            if text(tokens, at) == "as" {
                local = word(tokens, at + 1)?;
                at += 2;
            }
            names.push((name, local));
            at += usize::from(text(tokens, at) == ",");
        }
        at += 1;
        ensure!(text(tokens, at) == "from", unknown(tokens));
        at += 1;
    }
    let is_plain = tokens[0].depth == 0
        && tokens.get(at).is_some_and(|it| it.kind == Kind::String)
        && text(tokens, at + 1) == ";";
    ensure!(is_plain, unknown(tokens));
    let from = text(tokens, at).trim_matches(['\'', '"']).to_owned();
    Ok((Import { from, names }, at + 2))
}

/// Reads an export; returns the exported name.
fn export(tokens: &[Token<'_>]) -> Result<String> {
    ensure!(tokens[0].depth == 0, unknown(tokens));
    let at = match (text(tokens, 1), text(tokens, 2)) {
        ("async", "function") => 3,
        // `export let` is refused, because the other modules would keep the first value.
        ("function" | "class" | "const", _) => 2,
        _ => bail!(unknown(tokens)),
    };
    word(tokens, at)
}

fn text<'a>(tokens: &[Token<'a>], at: usize) -> &'a str {
    tokens.get(at).map_or("", |it| it.text)
}

fn word(tokens: &[Token<'_>], at: usize) -> Result<String> {
    match tokens.get(at) {
        Some(token) if token.kind == Kind::Word => Ok(token.text.to_owned()),
        _ => bail!(unknown(tokens)),
    }
}

/// The message about a form that the linker does not know.
fn unknown(tokens: &[Token<'_>]) -> String {
    let mut code = String::new();
    for token in tokens.iter().take(8) {
        append(&mut code, token);
    }
    format!(
        "the bundler does not know `{} …`: use `import './a.js';`, `import {{ b, c as d }} from './a.js';` or `export` \
         before a function, class or `const NAME`, at the top of a module",
        code.replace('\n', " ").trim()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_taken_apart() {
        let text = "/** About. */\n\nimport './a.js';\nimport {\n  b,\n  c as d,\n} from '../e/f.js';\n\n\
            // A comment.\nexport const G = 1;\nexport async function h() {\n  return G.import + d;\n}\nexport class I {}\n";
        let module = parse(text).unwrap();
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        let imports = [
            Import {
                from: "./a.js".into(),
                names: vec![],
            },
            Import {
                from: "../e/f.js".into(),
                names: vec![pair("b", "b"), pair("c", "d")],
            },
        ];
        assert_eq!(module.imports, imports);
        assert_eq!(module.exports, ["G", "h", "I"]);
        let code = "const G = 1;\nasync function h() {\nreturn G.import + d;\n}\nclass I {}";
        assert_eq!(module.code, code);
    }

    #[test]
    fn other_forms_are_refused_with_their_text() {
        for form in [
            "import a from './a.js';",
            "import * as a from './a.js';",
            "import a, { b } from './a.js';",
            "import './a.js'\n",
            "import { a } from './a.js' with { type: 'json' };",
            "const a = await0(import('./a.js'));",
            "const a = import.meta.url;",
            "if (a) { export const b = 1; }",
            "export default 1;",
            "export let a = 1;",
            "export { a };",
            "export { a } from './a.js';",
            "export * from './a.js';",
            "export const { a } = b;",
            "export function* a() {}",
            "await a;",
        ] {
            let error = parse(form).expect_err(form).to_string();
            let named = ["know `import", "know `export", "`await` at the top"];
            assert!(named.iter().any(|it| error.contains(it)), "{form}: {error}");
        }
    }

    #[test]
    fn comments_and_indentation_are_left_out_and_texts_are_kept() {
        let text = "const a = {\n    // why\n    b: `x\n      y`, /** @type {import('./c.js').C} */ c: (d),\n};\n";
        let module = parse(text).unwrap();
        assert_eq!(module.code, "const a = {\nb: `x\n      y`, c: (d),\n};");
    }
}
