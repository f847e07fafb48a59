;;; run-vectors.el --- Emacs against the shared vectors  -*- lexical-binding: t; -*-

;; Runs every vector of vectors/{sexp,frame,message} through Emacs's own `read', `prin1' and the framing of
;; bridle-peer.el, each as one ERT test.
;;
;;   emacs -Q --batch -l peers/emacs/run-vectors.el [-- [--record DIR] [--vectors DIR]]
;;
;; from the repository root.  The last line is `N passed, M failed'; the exit code is 1 when M is not 0.
;; --record DIR writes what Emacs did with each vector to DIR/{sexp,frame,message}/peers/emacs.jsonl
;; (`--record vectors' renews the committed ones).  What must hold, and what is only recorded, is written in
;; vectors/README.md.

;;; Code:

(load (expand-file-name "bridle-peer.el" (file-name-directory load-file-name)) nil t)
(require 'json)

(setq max-lisp-eval-depth 20000
      max-specpdl-size 40000)

(defconst run-vectors-input-limit (* 1024 1024)
  "Characters.  Beyond it the vector is about bridle's own limits, and the C stack of Emacs is not.")

(defconst run-vectors-nesting-limit 2000
  "Levels.  The reader of Emacs 28 recurses in C without a guard.")

(defconst run-vectors-printed-limit 2000
  "Characters of printed text to record: the record is for people to read in a diff.")

;;; Files

(defun run-vectors--field (vector name)
  "Return the value of NAME in VECTOR; nil when it is missing or null."
  (let ((value (gethash name vector)))
    (if (memq value '(:null :false)) nil value)))

(defun run-vectors--load (root folder)
  "Return the vectors of FOLDER below ROOT in the order of their files."
  ;; json.el and not `json-parse-buffer', which refuses NUL in strings.
  (let ((json-object-type 'hash-table) (json-array-type 'vector) (json-key-type 'string)
        (json-null :null) (json-false :false)
        (folder (expand-file-name folder root))
        vectors)
    (dolist (file (and (file-directory-p folder) (directory-files folder t "\\.jsonl\\'")))
      (with-temp-buffer
        (let ((coding-system-for-read 'utf-8-unix)) (insert-file-contents file))
        (goto-char (point-min))
        (while (progn (skip-chars-forward " \t\r\n") (not (eobp)))
          (push (json-read) vectors))))
    (nreverse vectors)))

(defun run-vectors--repeated (pieces)
  "PIECES holds texts and counts by turns."
  (let ((index 0) parts)
    (while (< index (length pieces))
      (push (apply #'concat (make-list (aref pieces (1+ index)) (aref pieces index))) parts)
      (setq index (+ 2 index)))
    (apply #'concat (nreverse parts))))

(defun run-vectors--size (vector)
  (let ((pieces (run-vectors--field vector "in_repeat")) (index 0) (size 0))
    (while (< index (length pieces))
      (setq size (+ size (* (length (aref pieces index)) (aref pieces (1+ index))))
            index (+ 2 index)))
    (+ size (length (run-vectors--field vector "in")) (length (run-vectors--field vector "in_hex")))))

(defun run-vectors--from-hex (digits)
  (let (octets)
    (dotimes (index (/ (length digits) 2))
      (push (string-to-number (substring digits (* 2 index) (* 2 (1+ index))) 16) octets))
    (apply #'unibyte-string (nreverse octets))))

(defun run-vectors--octets (vector)
  (let ((text (run-vectors--field vector "in"))
        (hex (run-vectors--field vector "in_hex"))
        (pieces (run-vectors--field vector "in_repeat")))
    (cond (text (encode-coding-string text 'utf-8-unix t))
          (hex (run-vectors--from-hex hex))
          (t (encode-coding-string (run-vectors--repeated pieces) 'utf-8-unix t)))))

(defun run-vectors--text (vector)
  "Return the input as text, or nil if it is not UTF-8."
  (let ((text (decode-coding-string (run-vectors--octets vector) 'utf-8-unix)))
    (unless (string-match-p "[\x3fff80-\x3fffff]" text) text)))

(defun run-vectors--shortened (text)
  (if (and text (> (length text) run-vectors-printed-limit))
      (format "%s... (%d characters)" (substring text 0 80) (length text))
    text))

;;; sexp

(defun run-vectors--nesting (text)
  "Return at least the depth of TEXT; strings and comments are taken for structure too."
  (let ((depth 0) (deepest 0))
    (mapc (lambda (character)
            (cond ((memq character '(?\( ?\[)) (setq depth (1+ depth)))
                  ((memq character '(?\) ?\])) (setq depth (1- depth)))
                  ((memq character '(?' ?` ?,)) (setq deepest (1+ deepest))))
            (setq deepest (max deepest depth)))
          text)
    deepest))

;; It looks at every character of megabytes: interpreted, it takes most of the run's time.
(let ((byte-compile-warnings nil)) (byte-compile 'run-vectors--nesting))

(defun run-vectors--bound (vector)
  "Return why VECTOR is not given to the reader, or nil."
  (if (> (run-vectors--size vector) run-vectors-input-limit)
      "input over the size limit"
    (let ((text (run-vectors--text vector)))
      (cond ((null text) nil)
            ((> (run-vectors--nesting text) run-vectors-nesting-limit) "nesting over the stack")
            ((string-match-p "#[0-9]\\{7,\\}" text) "resource bomb")))))

(defun run-vectors--only-form-p (text end)
  "Return whether nothing but blanks and comments follows END."
  (condition-case nil
      (progn (read-from-string text end) nil)
    (end-of-file t)
    (error nil)))

(defun run-vectors--read (text)
  "Return the verdict on TEXT and what Emacs prints: accept, prefix (a form and something after it) or error."
  (condition-case nil
      (pcase-let ((`(,form . ,end)
                   ;; `#$' reads as this file's name, which no record can hold.
                   (let ((load-file-name nil)) (read-from-string (or text "")))))
        (list (if (run-vectors--only-form-p text end) "accept" "prefix")
              (let ((print-circle t) (print-gensym t) (print-quoted nil) (print-escape-newlines nil)
                    (print-length nil) (print-level nil))
                (prin1-to-string form))))
    (error (list "error" nil))))

(defun run-vectors--folded (printed)
  "Return PRINTED with one spelling of nil and t, which bridle folds and Emacs does not."
  (let ((case-fold-search t))
    (replace-regexp-in-string "\\_<\\(nil\\|t\\)\\_>" #'downcase printed t)))

(defun run-vectors--other-syntax-p (text canonical)
  "Return whether TEXT or its CANONICAL, which is Common Lisp, means something else in Emacs.
A backquote has a name of its own there, and a bar is a letter."
  (or (string-search "`" text) (string-search "|" canonical)))

(defun run-vectors--sexp (vector)
  (let ((bound (run-vectors--bound vector)))
    (if bound
        (list nil "verdict" "bounded" "reason" bound)
      (pcase-let* ((text (run-vectors--text vector))
                   (canonical (run-vectors--field vector "canonical"))
                   (`(,verdict ,printed) (run-vectors--read text))
                   (`(,again ,printed-again) (and canonical (run-vectors--read canonical)))
                   (both (and (equal verdict "accept") (equal again "accept")))
                   (same (and both (string= (run-vectors--folded printed)
                                            (run-vectors--folded printed-again)))))
        (list (and both (not same) (equal (run-vectors--field vector "dialect") "emacs")
                   (not (run-vectors--other-syntax-p text canonical))
                   (format "%S prints as %s, its canonical %S as %s" text printed canonical printed-again))
              "verdict" verdict "printed" (run-vectors--shortened printed)
              "canonical" again "same" (and both (if same :true :false)))))))

;;; frame

(defun run-vectors--key (vector)
  (and (run-vectors--field vector "hmac")
       (if (run-vectors--field vector "key_hex")
           (run-vectors--from-hex (run-vectors--field vector "key_hex"))
         (encode-coding-string (or (run-vectors--field vector "key") "") 'utf-8-unix t))))

(defun run-vectors--frames (peer octets)
  "Return the payloads that PEER reads from OCTETS, and how it ended: open or error."
  (let (texts text)
    (with-temp-buffer
      (condition-case nil
          (progn
            (bridle-peer-fill peer octets)
            (while (setq text (bridle-peer-unframe peer)) (push text texts))
            (cons (if (zerop (buffer-size)) "open" "error") (nreverse texts)))
        (error (cons "error" (nreverse texts)))))))

(defun run-vectors--expected (vector)
  "Return the payloads before the first refusal."
  (let (payloads refused)
    (mapc (lambda (item)
            (let ((payload (run-vectors--field item "payload")))
              (if (and payload (not refused)) (push payload payloads) (setq refused t))))
          (run-vectors--field vector "out"))
    (nreverse payloads)))

(defun run-vectors--clean-p (vector)
  "Return whether bridle reads the whole input without a complaint."
  (and (equal (run-vectors--field vector "end") "open")
       (= (length (run-vectors--expected vector)) (length (run-vectors--field vector "out")))))

(defun run-vectors--as-peer (unit vector function)
  "Return whether FUNCTION holds for a peer that counts UNIT and reads either signature."
  (condition-case nil
      (funcall function (bridle-peer-create :unit unit :key (run-vectors--key vector) :sign-characters 'either))
    (error nil)))

(defun run-vectors--mixed-p (vector)
  "Return whether the first frame counts in the other unit than the one that the stream settles on.
It fits both, bridle reads it, and no reader that knows one unit reads the stream."
  (let ((text (run-vectors--field vector "in"))
        (first (car (run-vectors--expected vector)))
        (after (run-vectors--field vector "unit_after")))
    (and text first after (not (run-vectors--field vector "unit"))
         (not (= (length first) (string-bytes first)))
         (= (string-to-number (substring text 0 6) 16)
            (if (equal after "chars") (string-bytes first) (length first))))))

(defun run-vectors--decode (vector)
  (let* ((octets (run-vectors--octets vector))
         (clean (run-vectors--clean-p vector))
         (wanted (cons (if clean "open" "error") (run-vectors--expected vector)))
         (decodes (lambda (unit)
                    (run-vectors--as-peer
                     unit vector (lambda (peer) (equal (run-vectors--frames peer octets) wanted)))))
         (bytes (funcall decodes 'bytes))
         (chars (funcall decodes 'chars))
         (unit (or (run-vectors--field vector "unit_after") (run-vectors--field vector "unit"))))
    (list (unless (or (not clean) (run-vectors--mixed-p vector)
                      (pcase unit ("bytes" bytes) ("chars" chars) (_ (or bytes chars))))
            (format "does not decode as bridle does (bytes %s, chars %s)" bytes chars))
          "verdict" (if (or bytes chars) "accept" "error")
          "bytes" (if bytes :true :false) "chars" (if chars :true :false))))

(defun run-vectors--payload (vector)
  (or (run-vectors--field vector "payload")
      (and (run-vectors--field vector "payload_repeat")
           (run-vectors--repeated (run-vectors--field vector "payload_repeat")))
      (run-vectors--text vector)))

(defun run-vectors--written-unit (vector)
  "Return the unit of what bridle writes, or nil where it pads so that readers of either unit read it."
  (let ((open (run-vectors--field vector "unknown_unit")))
    (cond ((run-vectors--field vector "unit"))
          ((and open (not (equal open "pad"))) open)
          ((run-vectors--field vector "hmac") "bytes"))))

(defun run-vectors--encodes-p (unit vector payload out)
  "Return whether a peer that knows its UNIT writes OUT, or one reads OUT back where the unit is open."
  (run-vectors--as-peer
   unit vector
   (lambda (peer)
     (if (run-vectors--written-unit vector)
         (string= (bridle-peer-frame peer payload) (encode-coding-string out 'utf-8-unix t))
       (equal (mapcar #'string-trim-right
                      (cdr (run-vectors--frames peer (encode-coding-string out 'utf-8-unix t))))
              (list (string-trim-right payload)))))))

(defun run-vectors--encode (vector)
  (let* ((payload (run-vectors--payload vector))
         (out (run-vectors--field vector "out"))
         (unit (run-vectors--written-unit vector)))
    (if (null out)
        (list nil "verdict" (condition-case nil
                                (progn (bridle-peer-frame (bridle-peer-create :unit 'bytes) payload) "accept")
                              (error "error")))
      (let ((bytes (run-vectors--encodes-p 'bytes vector payload out))
            (chars (run-vectors--encodes-p 'chars vector payload out)))
        (list (unless (pcase unit ("bytes" bytes) ("chars" chars) (_ (and bytes chars)))
                (format "bytes %s, chars %s for %S" bytes chars out))
              "verdict" (if (or bytes chars) "accept" "error")
              "bytes" (if bytes :true :false) "chars" (if chars :true :false))))))

(defun run-vectors--frame (vector)
  (if (equal (run-vectors--field vector "do") "encode")
      (run-vectors--encode vector)
    (run-vectors--decode vector)))

;;; message

(defun run-vectors--type (text)
  "Return the name of the type of the message TEXT, or nil if Emacs cannot read it or finds none."
  (let* ((form (condition-case nil (car (bridle-peer-read text)) (error nil)))
         (type (bridle-peer-get form :type)))
    (and type (symbolp type) (upcase (string-remove-prefix ":" (symbol-name type))))))

(defun run-vectors--message (vector)
  (pcase-let* ((text (run-vectors--text vector))
               (type (and text (run-vectors--type text)))
               (`(,verdict ,printed) (run-vectors--read text))
               (wanted (run-vectors--field vector "type"))
               (reply (run-vectors--field vector "reply")))
    ;; Emacs has no `#(': a message with a Lisp vector in it is recorded only.
    (list (cond ((and (equal (run-vectors--field vector "verdict") "accept")
                      (not (and (equal verdict "error") (string-search "#(" text)))
                      (not (equal type (upcase (or wanted "")))))
                 (format "type %s, expected %s" type wanted))
                ((and reply (not (run-vectors--type reply)))
                 (format "its reply %S has no type" reply)))
          "verdict" verdict "type" type "printed" (run-vectors--shortened printed))))

;;; All of it

(defun run-vectors--json-string (text)
  "Return TEXT as a JSON string, ASCII only, as the other peers write theirs."
  (concat "\""
          (mapconcat (lambda (code)
                       (cond ((memq code '(?\" ?\\)) (string ?\\ code))
                             ((<= 32 code 126) (string code))
                             ((< code #x10000) (format "\\u%04x" code))
                             (t (let ((rest (- code #x10000)))
                                  (format "\\u%04x\\u%04x" (+ #xd800 (ash rest -10))
                                          (+ #xdc00 (logand rest #x3ff)))))))
                     text "")
          "\""))

(defun run-vectors--line (entries)
  "Return ENTRIES, names and values by turns, as one line of JSON; values that are nil are left out."
  (let (parts)
    (while entries
      (when (cadr entries)
        (push (format "%s:%s" (run-vectors--json-string (car entries))
                      (pcase (cadr entries)
                        (:true "true") (:false "false") (text (run-vectors--json-string text))))
              parts))
      (setq entries (cddr entries)))
    (concat "{" (string-join (nreverse parts) ",") "}\n")))

(defun run-vectors--define (vector runner)
  "Make VECTOR an ERT test; return a function of no arguments that gives its line of record afterwards."
  (let* ((id (run-vectors--field vector "id")) entries)
    (ert-set-test (intern (concat "vector/" id))
                  (make-ert-test :name (intern (concat "vector/" id))
                                 :documentation (run-vectors--field vector "note")
                                 :body (lambda ()
                                         (pcase-let ((`(,problem . ,facts) (funcall runner vector)))
                                           (setq entries facts)
                                           (should-not problem)))))
    (lambda () (run-vectors--line (append (list "id" id) entries)))))

(defun run-vectors--report (event &rest arguments)
  "Say what failed, and nothing else."
  (when (eq event 'test-ended)
    (pcase-let ((`(,_stats ,test ,result) arguments))
      (when (ert-test-failed-p result)
        (princ (format "FAILED %s: %s\n" (ert-test-name test)
                       (run-vectors--shortened
                        (format "%s" (plist-get (cdr (cadr (ert-test-result-with-condition-condition result)))
                                                :value)))))))))

(defun run-vectors-main ()
  (let* ((root (or (bridle-peer--option "--vectors") "vectors"))
         (record (bridle-peer--option "--record"))
         (folders '(("sexp" . run-vectors--sexp) ("frame" . run-vectors--frame)
                    ("message" . run-vectors--message)))
         (lines (mapcar (lambda (folder)
                          (cons (car folder)
                                (mapcar (lambda (vector) (run-vectors--define vector (cdr folder)))
                                        (run-vectors--load root (car folder)))))
                        folders))
         (stats (ert-run-tests "^vector/" #'run-vectors--report))
         (failed (ert-stats-completed-unexpected stats)))
    (setq command-line-args-left nil)
    (when record
      (dolist (folder lines)
        (let ((file (expand-file-name (format "%s/peers/emacs.jsonl" (car folder)) record)))
          (make-directory (file-name-directory file) t)
          (write-region (mapconcat #'funcall (cdr folder) "") nil file nil 'silent))))
    (princ (format "%d passed, %d failed\n" (ert-stats-completed-expected stats) failed))
    (kill-emacs (if (zerop failed) 0 1))))

(run-vectors-main)
;;; run-vectors.el ends here
