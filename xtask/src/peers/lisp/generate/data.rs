//! Strings, characters, symbols, lists, vectors.
//!
//! long: tables of forms.

use super::{ProgramMaker, ValueType};

impl ProgramMaker {
    pub(super) fn text(&mut self, depth: u32) -> String {
        let depth = depth - 1;
        match self.random.below(16) {
            0..=1 => {
                let name = *self.pick(&[
                    "string-upcase",
                    "string-downcase",
                    "string-capitalize",
                    "reverse",
                    "copy-seq",
                    "string",
                ]);
                self.call_of(name, &[ValueType::Text], depth)
            }
            2 => {
                let one = self.expression(ValueType::Text, depth);
                let two = self.expression(ValueType::Text, depth);
                format!("(concatenate 'string {one} {two})")
            }
            3 => {
                let text = self.expression(ValueType::Text, depth);
                let (start, end) = (self.random.below(3), self.random.below(5));
                if self.random.chance(50) {
                    format!("(subseq {text} {start})")
                } else {
                    format!("(subseq {text} {start} {end})")
                }
            }
            4 => {
                let text = self.expression(ValueType::Text, depth);
                let name = *self.pick(&["string-trim", "string-left-trim", "string-right-trim"]);
                let bag = *self.pick(&["\" \"", "\"ab\"", "'(#\\a #\\Space)", "\"\""]);
                format!("({name} {bag} {text})")
            }
            5..=8 => self.formatted(depth),
            9 => {
                let name = *self.pick(&["princ-to-string", "prin1-to-string", "write-to-string"]);
                self.call_of(name, &[ValueType::Any], depth)
            }
            10 => {
                let symbol = self.expression(ValueType::Symbol, depth);
                format!("(copy-seq (symbol-name {symbol}))")
            }
            11 => {
                let one = self.expression(ValueType::Any, depth);
                let two = self.expression(ValueType::Text, depth);
                format!(
                    "(with-output-to-string (s) (princ {one} s) (write-string {two} s) (terpri s) (format s \"~a\" 1))"
                )
            }
            12 => {
                let text = self.expression(ValueType::Text, depth);
                let call = *self.pick(&[
                    "(substitute #\\_ #\\a T)",
                    "(remove #\\a T)",
                    "(remove-if #'alpha-char-p T)",
                    "(remove-duplicates T)",
                    "(map 'string #'char-upcase T)",
                    "(sort (copy-seq T) #'char<)",
                    "(coerce (coerce T 'list) 'string)",
                    "(substitute-if #\\! #'upper-case-p T :count 1)",
                    "(remove #\\X T :from-end t :count 1)",
                    "(fill (copy-seq T) #\\q :end 1)",
                    "(nreverse (copy-seq T))",
                    "(string-upcase T :start 1)",
                ]);
                call.replace('T', &text)
            }
            13 => {
                let form = self.expression(ValueType::Integers, depth);
                format!("(format nil \"~{{~a~^, ~}}\" {form})")
            }
            14 => {
                let character = self.expression(ValueType::Character, depth);
                format!("(make-string {} :initial-element {character})", self.random.below(5))
            }
            _ => {
                let symbol = self.expression(ValueType::Symbol, depth);
                format!("(copy-seq (string {symbol}))")
            }
        }
    }

    fn formatted(&mut self, depth: u32) -> String {
        let controls: &[(&str, &[ValueType])] = &[
            ("~a", &[ValueType::Any]),
            ("~s", &[ValueType::Any]),
            ("~10a|", &[ValueType::Text]),
            ("~6@a|", &[ValueType::Symbol]),
            ("~d ~a", &[ValueType::Integer, ValueType::Any]),
            ("~5d|~5,'0d", &[ValueType::Integer, ValueType::Integer]),
            ("~:d ~@d", &[ValueType::Integer, ValueType::Integer]),
            ("~x ~b ~o", &[ValueType::Integer, ValueType::Integer, ValueType::Integer]),
            ("~,2f", &[ValueType::Real]),
            ("~8,3f|", &[ValueType::Real]),
            ("~r ~:r", &[ValueType::Integer, ValueType::Integer]),
            ("~c~:*~s", &[ValueType::Character]),
            ("~[zero~;one~:;many~]", &[ValueType::Integer]),
            ("~:[no~;yes~]", &[ValueType::Boolean]),
            ("~@[<~a>~]", &[ValueType::Any]),
            ("~{~a ~}", &[ValueType::List]),
            ("~{~s~^,~}", &[ValueType::Integers]),
            ("~{~a~a~}", &[ValueType::Integers]),
            ("~2{~a ~}", &[ValueType::Integers]),
            ("~(~a~) ~:(~a~) ~:@(~a~)", &[ValueType::Symbol, ValueType::Text, ValueType::Text]),
            ("~a thing~:p", &[ValueType::Integer]),
            ("~%~&~a~~", &[ValueType::Any]),
            ("~*~a", &[ValueType::Any, ValueType::Any]),
            ("~a~10t~a", &[ValueType::Symbol, ValueType::Any]),
            ("~36r", &[ValueType::Integer]),
            ("~,,'.,4:d", &[ValueType::Integer]),
            ("~a", &[]),
        ];
        let (control, kinds) = *self.pick(controls);
        let arguments: String =
            kinds.iter().map(|kind| format!(" {}", self.expression(*kind, depth))).collect();
        format!("(format nil \"{control}\"{arguments})")
    }

    pub(super) fn character(&mut self, depth: u32) -> String {
        let depth = depth - 1;
        match self.random.below(5) {
            0 => {
                let name = *self.pick(&["char-upcase", "char-downcase"]);
                self.call_of(name, &[ValueType::Character], depth)
            }
            1 => {
                let text = self.expression(ValueType::Text, depth);
                let name = *self.pick(&["char", "aref", "elt", "schar"]);
                format!("({name} {text} {})", self.random.below(4))
            }
            2 => format!("(code-char {})", 33 + self.random.below(90)),
            3 => format!("(digit-char {} 16)", self.random.below(18)),
            _ => {
                let text = self.expression(ValueType::Text, depth);
                format!("(or (find-if #'alpha-char-p {text}) #\\?)")
            }
        }
    }

    pub(super) fn symbol(&mut self, depth: u32) -> String {
        let depth = depth - 1;
        match self.random.below(5) {
            0 => {
                let form = self.expression(ValueType::List, depth);
                format!("(find-if #'symbolp {form})")
            }
            1 => {
                let form = self.expression(ValueType::Any, depth);
                format!(
                    "(typecase {form} (integer 'int) (string 'str) (symbol 'sym) (cons 'lst) (t 'other))"
                )
            }
            2 => {
                let form = self.expression(ValueType::Integer, depth);
                format!("(case {form} (0 'zero) ((1 2 3) 'few) (t 'many))")
            }
            3 => {
                let form = self.expression(ValueType::Symbol, depth);
                format!("(cdr (assoc {form} (list (cons 'a :x) (cons 'foo 'bar) (cons nil 'n))))")
            }
            _ => {
                let test = self.expression(ValueType::Boolean, depth);
                let one = self.expression(ValueType::Symbol, depth);
                format!("(when {test} {one})")
            }
        }
    }

    pub(super) fn integers(&mut self, depth: u32) -> String {
        let depth = depth - 1;
        match self.random.below(14) {
            0..=2 => {
                let form = self.expression(ValueType::Integers, depth);
                let call = *self.pick(&[
                    "(mapcar #'1+ L)",
                    "(mapcar #'- L)",
                    "(mapcar (lambda (v) (* v v)) L)",
                    "(reverse L)",
                    "(nreverse L)",
                    "(sort L #'<)",
                    "(stable-sort L #'> :key #'abs)",
                    "(remove-duplicates L)",
                    "(butlast L)",
                    "(cdr L)",
                    "(last L 2)",
                    "(copy-list L)",
                    "(mapcan (lambda (v) (if (oddp v) (list v v) nil)) L)",
                    "(loop for v in L collect (+ v 1))",
                    "(loop for v in L when (evenp v) collect v else collect 0)",
                    "(loop for v in L append (list v 0))",
                    "(nthcdr 2 L)",
                    "(maplist #'length L)",
                    "(remove-duplicates L :from-end t)",
                    "(loop for (a b) on L collect (or b a))",
                    "(mapcar #'+ L '(1 2 3))",
                    "(loop for v in L repeat 2 collect v)",
                    "(coerce (coerce L 'vector) 'list)",
                    "(map 'list #'1- L)",
                    "(delete-duplicates L)",
                    "(list-length L)",
                    "(loop for v = (pop L2) while v collect v)",
                    "(substitute 9 1 L)",
                    "(nsubstitute 9 1 L :count 1)",
                ]);
                if call.contains("L2") {
                    format!("(let ((l {form})) (loop for v = (pop l) while v collect v))")
                } else {
                    call.replace('L', &form)
                }
            }
            3..=4 => {
                let test = self.predicate();
                let form = self.expression(ValueType::Integers, depth);
                let name =
                    *self.pick(&["remove-if", "remove-if-not", "delete-if", "delete-if-not"]);
                let options = self.bounds();
                format!("({name} {test} {form}{options})")
            }
            5 => {
                let item = self.expression(ValueType::Integer, depth);
                let form = self.expression(ValueType::Integers, depth);
                let name = *self.pick(&["cons", "remove", "delete", "adjoin", "member"]);
                format!("({name} {item} {form})")
            }
            6..=7 => {
                let name = *self.pick(&[
                    "append",
                    "nconc",
                    "union",
                    "intersection",
                    "set-difference",
                    "set-exclusive-or",
                    "revappend",
                    "nreconc",
                ]);
                self.call_of(name, &[ValueType::Integers, ValueType::Integers], depth)
            }
            8 => {
                let form = self.expression(ValueType::Integers, depth);
                let (start, end) = (self.random.below(3), self.random.below(5));
                format!("(subseq {form} {start} {end})")
            }
            9 => {
                let count = self.random.below(5);
                let loops = [
                    "(loop for i from N downto 0 collect i)",
                    "(loop for i below N collect (* i i))",
                    "(loop for i from 0 to 10 by 3 collect i)",
                    "(let ((r nil)) (dotimes (i N r) (push i r)))",
                    "(do ((i 0 (1+ i)) (r nil (cons i r))) ((>= i N) r))",
                    "(loop repeat N for x = 1 then (* x 2) collect x)",
                    "(loop for i from 1 for j downfrom N to 0 collect (+ i (* 10 j)))",
                    "(loop for c across \"abc\" for i from 0 below N collect i)",
                    "(make-list N :initial-element 3)",
                ];
                self.pick(&loops).replace('N', &count.to_string())
            }
            10 => {
                let one = self.expression(ValueType::Integers, depth);
                let two = self.expression(ValueType::Integers, depth);
                format!("(merge 'list (sort {one} #'<) (sort {two} #'<) #'<)")
            }
            11 => {
                let vector = self.expression(ValueType::Vector, depth);
                format!("(coerce {vector} 'list)")
            }
            12 => {
                let one = self.expression(ValueType::Integers, depth);
                let two = self.expression(ValueType::Integers, depth);
                let name = *self.pick(&["+", "-", "max", "list", "cons"]);
                format!("(mapcar #'{name} {one} {two})")
            }
            _ => {
                let one = self.expression(ValueType::Integer, depth);
                let two = self.expression(ValueType::Integer, depth);
                format!("(multiple-value-list (floor {one} {two}))")
            }
        }
    }

    pub(super) fn list(&mut self, depth: u32) -> String {
        let depth = depth - 1;
        let any = ValueType::Any;
        match self.random.below(15) {
            0..=2 => {
                let count = self.random.below(4);
                let kinds = vec![any; usize::try_from(count).unwrap_or(0)];
                self.call_of("list", &kinds, depth)
            }
            3 => self.call_of("cons", &[any, ValueType::List], depth),
            4 => {
                let kind = *self.pick(&[ValueType::Integer, ValueType::Symbol, ValueType::Text]);
                let one = self.expression(kind, depth);
                let two = self.expression(ValueType::List, depth);
                let three = self.expression(ValueType::Integers, depth);
                format!("`(a ,{one} ,@{two} (b ,@{three}) . c)")
            }
            5 => self.hash_table(depth),
            6 => {
                let form = self.expression(ValueType::List, depth);
                let call = *self.pick(&[
                    "(reverse L)",
                    "(copy-tree L)",
                    "(append L L)",
                    "(mapcar #'atom L)",
                    "(remove nil L)",
                    "(mapcar #'list L)",
                    "(subst 'z 'a L)",
                    "(remove-duplicates L :test #'equal)",
                    "(butlast L)",
                    "(maplist #'identity L)",
                    "(ldiff L nil)",
                    "(list-length L)",
                    "(mapcon #'list L)",
                    "(position nil L)",
                    "(member nil L)",
                    "(find 'a L)",
                    "(remove-if #'consp L)",
                    "(sublis '((a . x) (1 . one)) L)",
                    "(tree-equal L L)",
                    "(copy-alist L)",
                    "(mapcar #'car L)",
                    "(assoc 'b L)",
                    "(rassoc 2 L)",
                ]);
                call.replace('L', &form)
            }
            7 => self.call_of("multiple-value-list", &[any], depth),
            8 => {
                let form = self.expression(ValueType::List, depth);
                format!("(destructuring-bind (&optional a b &rest c) {form} (list c b a))")
            }
            9 => {
                let one = self.expression(any, depth);
                let two = self.expression(any, depth);
                format!("(multiple-value-bind (p q r) (values {one} {two}) (list r q p))")
            }
            10 => self.structure_form(depth),
            11 => {
                let one = self.expression(any, depth);
                let two = self.expression(any, depth);
                format!(
                    "((lambda (&key (a 1) (b a bp) &allow-other-keys) (list a b bp)) :b {one} :c {two})"
                )
            }
            12 => {
                let form = self.expression(ValueType::Integers, depth);
                let loops = [
                    "(loop for v in L if (evenp v) collect v into a else collect v into b finally (return (list a b)))",
                    "(loop for v in L for p = nil then q for q = v collect (list p q))",
                    "(loop for (k . r) on L collect (cons k (length r)))",
                    "(let ((h (make-hash-table))) (dolist (v L) (incf (gethash (mod v 3) h 0))) (sort (loop for k being the hash-keys of h using (hash-value n) collect (cons k n)) #'< :key #'car))",
                    "(loop named out for v in L do (when (> v 4) (return-from out (list :big v))))",
                    "(loop for v in L while (< v 6) unless (oddp v) collect (list v) and sum v into s finally (return (list s)))",
                    "(loop for v across (coerce L 'vector) thereis (and (> v 3) (list v)))",
                    "(let ((fs nil)) (dolist (v L) (push (let ((v v)) (lambda () v)) fs)) (mapcar #'funcall fs))",
                    "(loop for v in L and i = 0 then (1+ i) collect (cons i v))",
                ];
                self.pick(&loops).replace('L', &form)
            }
            13 => {
                let text = self.expression(ValueType::Text, depth);
                format!("(coerce {text} 'list)")
            }
            _ => {
                let form = self.expression(ValueType::Text, depth);
                format!("(list (ignore-errors (values (read-from-string {form}))))")
            }
        }
    }

    fn hash_table(&mut self, depth: u32) -> String {
        let test = *self.pick(&["'eql", "'equal", "'equalp", "#'eq"]);
        let one = self.expression(ValueType::Text, depth);
        let two = self.expression(ValueType::Integer, depth);
        let three = self.expression(ValueType::Any, depth);
        format!(
            "(let ((h (make-hash-table :test {test}))) (setf (gethash {two} h) {three} (gethash :k h) {two}) (remhash 1 h) \
             (list (gethash {two} h :none) (gethash {one} h :none) (hash-table-count h)))"
        )
    }

    pub(super) fn vector(&mut self, depth: u32) -> String {
        let depth = depth - 1;
        match self.random.below(7) {
            0 => {
                let form = self.expression(ValueType::Integers, depth);
                format!("(coerce {form} 'vector)")
            }
            1..=2 => {
                let form = self.expression(ValueType::Vector, depth);
                let call = *self.pick(&[
                    "(map 'vector #'1+ V)",
                    "(reverse V)",
                    "(nreverse V)",
                    "(sort V #'<)",
                    "(subseq V 1)",
                    "(remove 1 V)",
                    "(substitute 7 2 V)",
                    "(concatenate 'vector V V)",
                    "(fill V 0 :start 1)",
                    "(replace V #(9 8) :start1 1)",
                    "(remove-duplicates V)",
                    "(stable-sort V #'>)",
                    "(map-into V #'1+ V)",
                    "(delete 3 V)",
                    "(copy-seq V)",
                ]);
                call.replace('V', &form)
            }
            3 => {
                let test = self.predicate();
                let form = self.expression(ValueType::Vector, depth);
                let options = self.bounds();
                format!("(remove-if {test} {form}{options})")
            }
            4 => {
                let form = self.expression(ValueType::Integers, depth);
                format!(
                    "(let ((v (make-array 2 :adjustable t :fill-pointer 0))) (dolist (x {form} v) (vector-push-extend x v)))"
                )
            }
            5 => {
                let (index, value) =
                    (self.random.below(4), self.expression(ValueType::Integer, depth));
                let form = self.expression(ValueType::Vector, depth);
                format!("(let ((v {form})) (setf (aref v {index}) {value}) (incf (aref v 0) 2) v)")
            }
            _ => {
                let value = self.expression(ValueType::Integer, depth);
                format!("(make-array {} :initial-element {value})", self.random.below(4))
            }
        }
    }
}
