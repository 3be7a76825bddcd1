//! Expressions over the columns that are in scope, by type.

use super::choice::Choice;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Int,
    Float,
    Text,
}

/// The columns that may be named, as they are written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scope(pub(crate) Vec<(String, Type)>);

impl Scope {
    pub(crate) fn of(columns: &[(&str, Type)], table: &str) -> Self {
        Self(columns.iter().map(|(name, ty)| (format!("{table}.{name}"), *ty)).collect())
    }

    pub(crate) fn and(&self, other: &Self) -> Self {
        Self(self.0.iter().chain(&other.0).cloned().collect())
    }

    pub(crate) fn column(&self, choice: &mut Choice, ty: Type) -> Option<String> {
        let fitting: Vec<&str> =
            self.0.iter().filter(|(_, other)| *other == ty).map(|(name, _)| name.as_str()).collect();
        if fitting.is_empty() { None } else { Some(choice.of(&fitting).to_owned()) }
    }
}

pub(crate) fn any_type(choice: &mut Choice) -> Type {
    [Type::Int, Type::Int, Type::Float, Type::Text][choice.below(4)]
}

pub(crate) fn literal(choice: &mut Choice, ty: Type) -> String {
    if choice.percent(4) {
        let name = ["BIGINT", "DOUBLE", "TEXT"][ty as usize];
        return format!("CAST(NULL AS {name})");
    }
    match ty {
        Type::Int => (choice.below(41) as i64 - 20).to_string(),
        Type::Float => format!("{:.2}", (choice.below(81) as f64 - 40.0) / 4.0),
        Type::Text => format!("'{}'", choice.of(&["", "a", "b", "ab", "Ab", "kitchen", "x y", "日本", "o''k", "%"])),
    }
}

/// An expression of a type, `depth` levels deep at most.
pub(crate) fn expression(choice: &mut Choice, scope: &Scope, ty: Type, depth: usize) -> String {
    if depth == 0 || choice.percent(35) {
        return match scope.column(choice, ty).filter(|_| choice.percent(75)) {
            Some(column) => column,
            None => literal(choice, ty),
        };
    }
    let depth = depth - 1;
    if choice.percent(20) {
        let condition = condition(choice, scope, depth);
        let (then, otherwise) = (expression(choice, scope, ty, depth), expression(choice, scope, ty, depth));
        return match choice.below(3) {
            0 => format!("CASE WHEN {condition} THEN {then} END"),
            1 => format!("coalesce({then}, {otherwise})"),
            _ => format!("CASE WHEN {condition} THEN {then} ELSE {otherwise} END"),
        };
    }
    let inner = |choice: &mut Choice, ty| expression(choice, scope, ty, depth);
    match ty {
        Type::Int => {
            let left = inner(choice, Type::Int);
            match choice.below(8) {
                0 | 1 => format!("({left} + {})", inner(choice, Type::Int)),
                2 => format!("({left} - {})", inner(choice, Type::Int)),
                3 => format!("({left} * {})", 2 + choice.below(3)),
                4 => format!("({left} / {})", 1 + choice.below(7)),
                5 => format!("({left} % {})", 1 + choice.below(7)),
                6 => format!("length({})", inner(choice, Type::Text)),
                _ => format!("abs({left})"),
            }
        }
        Type::Float => {
            let left = inner(choice, Type::Float);
            match choice.below(4) {
                0 => format!("({left} + {})", inner(choice, Type::Float)),
                1 => format!("({left} - {})", inner(choice, Type::Float)),
                2 => format!("({left} * {}.5)", choice.below(3)),
                _ => format!("({left} + {})", inner(choice, Type::Int)),
            }
        }
        Type::Text => {
            let text = inner(choice, Type::Text);
            match choice.below(6) {
                0 => format!("({text} || {})", inner(choice, Type::Text)),
                1 => format!("upper({text})"),
                2 => format!("substr({text}, {}, {})", 1 + choice.below(3), choice.below(4)),
                3 => format!("replace({text}, 'a', {})", choice.of(&["''", "'bb'"])),
                4 => format!("trim({text})"),
                _ => format!("nullif({text}, {})", literal(choice, Type::Text)),
            }
        }
    }
}

/// A condition.
pub(crate) fn condition(choice: &mut Choice, scope: &Scope, depth: usize) -> String {
    if depth > 0 && choice.percent(40) {
        let left = condition(choice, scope, depth - 1);
        return match choice.below(5) {
            0 | 1 => format!("({left} AND {})", condition(choice, scope, depth - 1)),
            2 | 3 => format!("({left} OR {})", condition(choice, scope, depth - 1)),
            _ => format!("NOT ({left})"),
        };
    }
    let ty = any_type(choice);
    let depth = depth.saturating_sub(1);
    let left = expression(choice, scope, ty, depth);
    let not = if choice.percent(30) { "NOT " } else { "" };
    match choice.below(9) {
        0 => format!("{left} {not}BETWEEN {} AND {}", literal(choice, ty), literal(choice, ty)),
        1 => {
            let items: Vec<String> = (0..1 + choice.below(5)).map(|_| literal(choice, ty)).collect();
            format!("{left} {not}IN ({})", items.join(", "))
        }
        2 => format!("{left} IS {not}NULL"),
        3 if ty == Type::Text => {
            format!("{left} {not}LIKE '{}'", choice.of(&["a%", "%b", "%i_c%", "_", "%", "", "k%n", "A%", "日%"]))
        }
        4 => format!("{left} IS {not}DISTINCT FROM {}", expression(choice, scope, ty, depth)),
        _ => {
            let operator = choice.of(&["=", "<>", "<", "<=", ">", ">="]);
            format!("{left} {operator} {}", expression(choice, scope, ty, depth))
        }
    }
}
