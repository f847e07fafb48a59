//! Functions of conses that take no function.

use super::{MANY, NativeFunction, native};
use crate::equality::is_eql;
use crate::machine::Machine;
use crate::symbols::well_known;
use crate::trap::StepResult;
use crate::value::{NIL, Word};

pub(crate) const TABLE: &[NativeFunction] = &[
    native("car", 1, 1, |m, a| m.car(m.argument(a, 0))),
    native("cdr", 1, 1, |m, a| m.cdr(m.argument(a, 0))),
    native("first", 1, 1, |m, a| m.car(m.argument(a, 0))),
    native("rest", 1, 1, |m, a| m.cdr(m.argument(a, 0))),
    native("caar", 1, 1, |m, a| path(m, m.argument(a, 0), "aa")),
    native("cadr", 1, 1, |m, a| path(m, m.argument(a, 0), "ad")),
    native("cdar", 1, 1, |m, a| path(m, m.argument(a, 0), "da")),
    native("cddr", 1, 1, |m, a| path(m, m.argument(a, 0), "dd")),
    native("caddr", 1, 1, |m, a| path(m, m.argument(a, 0), "add")),
    native("cdddr", 1, 1, |m, a| path(m, m.argument(a, 0), "ddd")),
    native("caadr", 1, 1, |m, a| path(m, m.argument(a, 0), "aad")),
    native("cadar", 1, 1, |m, a| path(m, m.argument(a, 0), "ada")),
    native("cddar", 1, 1, |m, a| path(m, m.argument(a, 0), "dda")),
    native("cdadr", 1, 1, |m, a| path(m, m.argument(a, 0), "dad")),
    native("cadddr", 1, 1, |m, a| path(m, m.argument(a, 0), "addd")),
    native("cddddr", 1, 1, |m, a| path(m, m.argument(a, 0), "dddd")),
    native("caaar", 1, 1, |m, a| path(m, m.argument(a, 0), "aaa")),
    native("cdaar", 1, 1, |m, a| path(m, m.argument(a, 0), "daa")),
    native("caaaar", 1, 1, |m, a| path(m, m.argument(a, 0), "aaaa")),
    native("caaadr", 1, 1, |m, a| path(m, m.argument(a, 0), "aaad")),
    native("caadar", 1, 1, |m, a| path(m, m.argument(a, 0), "aada")),
    native("caaddr", 1, 1, |m, a| path(m, m.argument(a, 0), "aadd")),
    native("cadaar", 1, 1, |m, a| path(m, m.argument(a, 0), "adaa")),
    native("cadadr", 1, 1, |m, a| path(m, m.argument(a, 0), "adad")),
    native("caddar", 1, 1, |m, a| path(m, m.argument(a, 0), "adda")),
    native("cdaaar", 1, 1, |m, a| path(m, m.argument(a, 0), "daaa")),
    native("cdaadr", 1, 1, |m, a| path(m, m.argument(a, 0), "daad")),
    native("cdadar", 1, 1, |m, a| path(m, m.argument(a, 0), "dada")),
    native("cdaddr", 1, 1, |m, a| path(m, m.argument(a, 0), "dadd")),
    native("cddaar", 1, 1, |m, a| path(m, m.argument(a, 0), "ddaa")),
    native("cddadr", 1, 1, |m, a| path(m, m.argument(a, 0), "ddad")),
    native("cdddar", 1, 1, |m, a| path(m, m.argument(a, 0), "ddda")),
    native("second", 1, 1, |m, a| nth(m, 1, m.argument(a, 0))),
    native("third", 1, 1, |m, a| nth(m, 2, m.argument(a, 0))),
    native("fourth", 1, 1, |m, a| nth(m, 3, m.argument(a, 0))),
    native("fifth", 1, 1, |m, a| nth(m, 4, m.argument(a, 0))),
    native("sixth", 1, 1, |m, a| nth(m, 5, m.argument(a, 0))),
    native("seventh", 1, 1, |m, a| nth(m, 6, m.argument(a, 0))),
    native("eighth", 1, 1, |m, a| nth(m, 7, m.argument(a, 0))),
    native("ninth", 1, 1, |m, a| nth(m, 8, m.argument(a, 0))),
    native("tenth", 1, 1, |m, a| nth(m, 9, m.argument(a, 0))),
    native("nth", 2, 2, |m, a| {
        let index = m.count_argument(m.argument(a, 0))?;
        nth(m, index, m.argument(a, 1))
    }),
    native("nthcdr", 2, 2, |m, a| {
        let index = m.count_argument(m.argument(a, 0))?;
        nthcdr(m, index, m.argument(a, 1))
    }),
    native("cons", 2, 2, |m, a| {
        let (car, cdr) = (m.argument(a, 0), m.argument(a, 1));
        Ok(m.heap.cons(car, cdr))
    }),
    native("acons", 3, 3, |m, a| {
        let pair = m.heap.cons(m.argument(a, 0), m.argument(a, 1));
        Ok(m.heap.cons(pair, m.argument(a, 2)))
    }),
    native("list", 0, MANY, |m, a| {
        let words = m.arguments(a).to_vec();
        m.make_list(&words)
    }),
    native("list*", 1, MANY, |m, a| {
        let words = m.arguments(a).to_vec();
        let (first, last) = words.split_at(words.len() - 1);
        Ok(m.heap.list_with_tail(first, last[0]))
    }),
    native("make-list", 1, MANY, |m, a| {
        m.check_keys(a, 1, &["INITIAL-ELEMENT"])?;
        let count = m.index_argument(m.argument(a, 0))?;
        let element = m.key(a, 1, "INITIAL-ELEMENT").unwrap_or(NIL);
        m.reserve(count.saturating_mul(24))?;
        m.make_list(&vec![element; count])
    }),
    native("append", 0, MANY, append),
    native("nconc", 0, MANY, |m, a| {
        let mut result = NIL;
        let mut before = NIL;
        for index in 0..a.count {
            let next = m.argument(a, index);
            if next.is_nil() {
                // As in SBCL: an empty list behind a list cuts off what is behind its dot.
                if before.is_cons() {
                    let end = last_cons(m, before)?;
                    set_cdr(m, end, NIL)?;
                }
                continue;
            }
            if result.is_nil() {
                result = next;
            } else {
                let end = last_cons(m, before)?;
                set_cdr(m, end, next)?;
            }
            if !next.is_cons() && index + 1 < a.count {
                return Err(m.type_error(next, well_known::LIST));
            }
            before = next;
        }
        Ok(result)
    }),
    native("last", 1, 2, |m, a| {
        let count = match m.optional(a, 1) {
            Some(word) => m.count_argument(word)?,
            None => 1,
        };
        let list = m.argument(a, 0);
        let length = cons_count(m, list)?;
        nthcdr(m, length.saturating_sub(count), list)
    }),
    native("butlast", 1, 2, |m, a| {
        let count = match m.optional(a, 1) {
            Some(word) => m.count_argument(word)?,
            None => 1,
        };
        let list = m.argument(a, 0);
        let length = cons_count(m, list)?;
        let mut kept = Vec::new();
        let mut rest = list;
        for _ in 0..length.saturating_sub(count) {
            let pair = m.heap.pair(rest);
            kept.push(pair.car);
            rest = pair.cdr;
        }
        m.make_list(&kept)
    }),
    native("copy-list", 1, 1, |m, a| {
        let mut words = Vec::new();
        let mut rest = m.argument(a, 0);
        if !rest.is_cons() && rest.is_true() {
            return Err(m.type_error(rest, well_known::LIST));
        }
        while rest.is_cons() {
            let pair = m.heap.pair(rest);
            words.push(pair.car);
            rest = pair.cdr;
            m.charge(1)?;
            if words.len() * 24 > m.heap.limit {
                return Err(crate::trap::limit(crate::trap::LimitKind::Heap));
            }
        }
        m.reserve(words.len() * 16)?;
        Ok(m.heap.list_with_tail(&words, rest))
    }),
    native("list-length", 1, 1, |m, a| {
        let list = m.argument(a, 0);
        let (mut slow, mut fast, mut count) = (list, list, 0);
        loop {
            m.charge(1)?;
            if fast.is_nil() {
                return Ok(Word::count(count));
            }
            let next = m.cdr(fast)?;
            if next.is_nil() {
                return Ok(Word::count(count + 1));
            }
            fast = m.cdr(next)?;
            slow = m.cdr(slow)?;
            count += 2;
            if fast == slow && fast.is_true() {
                return Ok(NIL);
            }
        }
    }),
    native("rplaca", 2, 2, |m, a| {
        set_car(m, m.argument(a, 0), m.argument(a, 1))?;
        Ok(m.argument(a, 0))
    }),
    native("rplacd", 2, 2, |m, a| {
        set_cdr(m, m.argument(a, 0), m.argument(a, 1))?;
        Ok(m.argument(a, 0))
    }),
    native("%set-car", 2, 2, |m, a| {
        set_car(m, m.argument(a, 0), m.argument(a, 1))?;
        Ok(m.argument(a, 1))
    }),
    native("%set-cdr", 2, 2, |m, a| {
        set_cdr(m, m.argument(a, 0), m.argument(a, 1))?;
        Ok(m.argument(a, 1))
    }),
    native("getf", 2, 3, |m, a| {
        let found = find_key(m, m.argument(a, 0), m.argument(a, 1))?;
        if found.is_nil() {
            return Ok(m.optional(a, 2).unwrap_or(NIL));
        }
        path(m, found, "ad")
    }),
    native("%find-key", 2, 2, |m, a| find_key(m, m.argument(a, 0), m.argument(a, 1))),
    native("%check-list", 4, 4, |m, a| {
        let list = m.argument(a, 0);
        let least = m.argument(a, 1).as_index().unwrap_or(0);
        let most = m.argument(a, 2).as_index();
        let (mut rest, mut count) = (list, 0);
        while rest.is_cons() {
            count += 1;
            rest = m.heap.pair(rest).cdr;
            m.charge(1)?;
        }
        // An atom at the end goes only into &REST, behind all other parameters.
        let is_taken = m.argument(a, 3).as_index().is_some_and(|others| count >= others);
        let is_short = count < least || rest.is_true() && !is_taken;
        if is_short || most.is_some_and(|most| count > most) {
            let text = m.print_to_string(list);
            return Err(
                m.simple_error(&format!("cannot take apart {text}: wrong number of elements"))
            );
        }
        Ok(list)
    }),
    native("%check-keys", 3, 3, |m, a| {
        let words = m.list_elements(m.argument(a, 0))?;
        if words.len() % 2 == 1 {
            return Err(m.simple_error("odd number of &KEY arguments"));
        }
        let known = m.list_elements(m.argument(a, 1))?;
        let allow = Word::symbol(well_known::K_ALLOW_OTHER_KEYS);
        let is_allowed = words.chunks_exact(2).any(|pair| pair[0] == allow && pair[1].is_true());
        let is_known =
            words.chunks_exact(2).all(|pair| known.contains(&pair[0]) || pair[0] == allow);
        if m.argument(a, 2).is_true() || is_allowed || is_known {
            return Ok(NIL);
        }
        Err(m.simple_error("unknown &KEY argument"))
    }),
    native("%member", 2, 2, |m, a| {
        let item = m.argument(a, 0);
        let steps = m.digit_steps(item) + 1;
        let mut rest = m.argument(a, 1);
        while rest.is_cons() {
            let pair = m.heap.pair(rest);
            if is_eql(&m.heap, pair.car, item) {
                return Ok(rest);
            }
            rest = pair.cdr;
            m.charge(steps)?;
        }
        if rest.is_nil() { Ok(NIL) } else { Err(m.type_error(rest, well_known::LIST)) }
    }),
    native("%assoc", 2, 2, |m, a| {
        let item = m.argument(a, 0);
        let steps = m.digit_steps(item) + 1;
        let mut rest = m.argument(a, 1);
        while rest.is_cons() {
            let pair = m.heap.pair(rest);
            if pair.car.is_cons() && is_eql(&m.heap, m.heap.pair(pair.car).car, item) {
                return Ok(pair.car);
            }
            if !pair.car.is_cons() && pair.car.is_true() {
                return Err(m.type_error(pair.car, well_known::LIST));
            }
            rest = pair.cdr;
            m.charge(steps)?;
        }
        if rest.is_nil() { Ok(NIL) } else { Err(m.type_error(rest, well_known::LIST)) }
    }),
    native("endp", 1, 1, |m, a| {
        let word = m.argument(a, 0);
        if word.is_cons() || word.is_nil() {
            return Ok(Word::truth(word.is_nil()));
        }
        Err(m.type_error(word, well_known::LIST))
    }),
];

fn path(m: &mut Machine, mut word: Word, steps: &str) -> StepResult {
    for step in steps.bytes().rev() {
        word = if step == b'a' { m.car(word)? } else { m.cdr(word)? };
    }
    Ok(word)
}

fn nthcdr(m: &mut Machine, count: usize, mut list: Word) -> StepResult {
    if !list.is_cons() && list.is_true() {
        return Err(m.type_error(list, well_known::LIST));
    }
    for _ in 0..count {
        if list.is_nil() {
            return Ok(NIL);
        }
        list = m.cdr(list)?;
        m.charge(1)?;
    }
    Ok(list)
}

fn nth(m: &mut Machine, count: usize, list: Word) -> StepResult {
    let rest = nthcdr(m, count, list)?;
    m.car(rest)
}

fn cons_count(m: &mut Machine, list: Word) -> StepResult<usize> {
    let (mut rest, mut count) = (list, 0);
    if !rest.is_cons() && rest.is_true() {
        return Err(m.type_error(rest, well_known::LIST));
    }
    while rest.is_cons() {
        count += 1;
        rest = m.heap.pair(rest).cdr;
        m.charge(1)?;
    }
    Ok(count)
}

fn last_cons(m: &mut Machine, list: Word) -> StepResult {
    let mut last = list;
    loop {
        let next = m.heap.pair(last).cdr;
        if !next.is_cons() {
            return Ok(last);
        }
        last = next;
        m.charge(1)?;
    }
}

fn append(m: &mut Machine, a: crate::machine::ArgumentWindow) -> StepResult {
    let Some(last) = a.count.checked_sub(1) else { return Ok(NIL) };
    let mut words = Vec::new();
    for index in 0..last {
        words.extend(m.list_elements(m.argument(a, index))?);
    }
    let tail = m.argument(a, last);
    m.reserve(words.len() * 16)?;
    Ok(m.heap.list_with_tail(&words, tail))
}

fn find_key(m: &mut Machine, plist: Word, key: Word) -> StepResult {
    let mut rest = plist;
    while rest.is_cons() {
        let pair = m.heap.pair(rest);
        if !pair.cdr.is_cons() {
            return Err(m.type_error(plist, well_known::LIST));
        }
        if pair.car == key {
            return Ok(rest);
        }
        rest = m.heap.pair(pair.cdr).cdr;
        m.charge(1)?;
    }
    if rest.is_nil() { Ok(NIL) } else { Err(m.type_error(rest, well_known::LIST)) }
}

fn set_car(m: &mut Machine, word: Word, value: Word) -> StepResult<()> {
    match m.heap.pair_mut(word) {
        Some(pair) if word.is_cons() => pair.car = value,
        _ => return Err(m.type_error(word, well_known::CONS)),
    }
    Ok(())
}

fn set_cdr(m: &mut Machine, word: Word, value: Word) -> StepResult<()> {
    match m.heap.pair_mut(word) {
        Some(pair) if word.is_cons() => pair.cdr = value,
        _ => return Err(m.type_error(word, well_known::CONS)),
    }
    Ok(())
}
