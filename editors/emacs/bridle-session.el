;;; bridle-session.el --- A session with bridle that outlives connections  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; A session is a conversation in the record of the daemon.  This file knows up to which number it was
;; heard, what was said and is not on disk yet, which requests were answered and which questions are
;; open; so whatever happens to a connection or to the daemon, the next one goes on behind the last
;; number, nothing is said twice and nothing is missed.  Faces (the transcript, the list of approvals)
;; are listeners.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'bridle-wire)

(defcustom bridle-history-events 60
  "Events of a session that are fetched when it is opened; earlier ones on demand."
  :group 'bridle
  :type 'integer)

(defcustom bridle-render-rate 20
  "Updates a second that the daemon may send while an answer is under way."
  :group 'bridle
  :type 'integer)

(defcustom bridle-program "bridle"
  "The program `bridle', to start a daemon where none runs."
  :group 'bridle
  :type 'string)

(defconst bridle-session--max-sayings 1024
  "Messages that may wait for their answer.")

(defconst bridle-session--max-answered 512
  "Answers to requests that are kept, and names of requests that ended.")

(defconst bridle-session--max-questions 64
  "Questions that may be open in one session here.")

(defconst bridle-session--retry-codes
  '("store-unavailable" "overloaded" "shutting-down" "frame-timeout" "part-timeout")
  "Codes after which the same message may be said again.")

(cl-defstruct (bridle-session (:constructor bridle-session--make) (:copier nil))
  "A session.  LISTENERS are called with the session, what happened, and data."
  name address client-id wire (phase 'down) server capabilities role (state "idle") turn
  cursor floor (known (make-hash-table)) tail-end late-requests
  (sayings (make-hash-table :test #'equal)) order (prefix (bridle-wire-random-hex 4))
  (count 0) (connection 0)
  questions (answered (make-hash-table :test #'equal)) answered-order
  (over (make-hash-table :test #'equal)) over-order
  listeners buffer load costs costs-asked trouble history-floor)

(cl-defstruct (bridle-saying (:constructor bridle-saying--make) (:copier nil))
  "A message of ours: it is said again until it is acknowledged."
  id number form seq callback (connection 0) prompt)

(cl-defstruct (bridle-question (:constructor bridle-question--make) (:copier nil))
  "What is done only after a yes.
KIND is `guard' for a question of the daemon, `local' for one of ours,
`elsewhere' for one of the session PLACE, which is not open here.
WANTED is exactly what the yes is for; ANSWER is called with `allow' or
`deny' for a local one.  SCOPES are those in which it can be allowed
from now on: lists of a word and a sentence.  SHOWN says that all of
it was before the user."
  id session kind place text risk target wanted hash deadline diff scopes answer shown)

(defvar bridle-sessions nil
  "Sessions of this Emacs.")

(defvar bridle-session-actuators '(:emacs)
  "What this editor offers to carry out, as its hello says it.")

(defvar bridle-session-request-function #'ignore
  "Carries out a request of the daemon.
Called with session, id, payload and meta; returns the payload of the
answer, or nil when `bridle-session-answer' gives it later.")

(defvar bridle-questions-changed-hook nil
  "Run when a question came or went.")

(defun bridle-session-notify (session what &optional data)
  "Tell the listeners of SESSION that WHAT happened, with DATA."
  (dolist (listener (bridle-session-listeners session))
    (condition-case err
        (funcall listener session what data)
      (error (bridle-wire-note "--" (format "fault: %s" (error-message-string err)))))))

;;;; Opening

(cl-defun bridle-session-open (name address &key client-id key-id secret listener)
  "Return a session NAME with the daemon at ADDRESS, attached as soon as it can be.
CLIENT-ID is a uuid of this Emacs; KEY-ID and SECRET sign frames;
LISTENER is called with what happens."
  (let ((session (bridle-session--make :name name :address address :client-id client-id
                                       :listeners (and listener (list listener)))))
    (push session bridle-sessions)
    (setf (bridle-session-wire session)
          (bridle-wire-open address
                            :hello (lambda (payload) (bridle-session--hello session payload))
                            :take (lambda (form) (bridle-session--take session form))
                            :down (lambda (reason) (bridle-session--down session reason))
                            :key-id key-id :secret secret))
    session))

(defun bridle-session-close (session)
  "Leave SESSION; it stays in the record."
  (setq bridle-sessions (delq session bridle-sessions))
  (when (bridle-session-wire session)
    (bridle-wire-close (bridle-session-wire session)))
  (setf (bridle-session-phase session) 'closed
        (bridle-session-questions session) nil)
  (bridle-session-notify session 'closed)
  (run-hooks 'bridle-questions-changed-hook))

(defun bridle-session-find (name)
  "Return the open session NAME, or nil."
  (cl-find name bridle-sessions :key #'bridle-session-name :test #'equal))

(defun bridle-session-is-attached (session)
  "Whether SESSION is attached now."
  (eq (bridle-session-phase session) 'attached))

(defun bridle-session-can (session capability)
  "Whether the daemon of SESSION lists CAPABILITY, a keyword, in its hello."
  (memq capability (bridle-session-capabilities session)))

(defun bridle-session--hello (session payload)
  "Return the payload of our hello in SESSION, after PAYLOAD of the daemon's."
  (cl-incf (bridle-session-connection session))
  (setf (bridle-session-server session) (bridle-get-string payload :server)
        (bridle-session-capabilities session) (bridle-get-list payload :capabilities)
        (bridle-session-phase session) (if (bridle-session-cursor session) 'attaching 'probing))
  (bridle-session--hello-payload session (bridle-session-cursor session)))

(defun bridle-session--hello-payload (session cursor)
  "Return what a hello in SESSION says, to hear what comes after CURSOR."
  `(:action :handshake :version "0.3.0" :capabilities (:parts) :length :bytes :dialect :emacs
    ,@(and (bridle-session-client-id session) (list :client (bridle-session-client-id session)))
    :session ,(bridle-session-name session) ,@(and cursor (list :cursor cursor))
    :shell :emacs :max-frame ,bridle-wire-max-frame :render-rate ,bridle-render-rate
    :receipts t :actuators ,bridle-session-actuators))

(defun bridle-session--down (session reason)
  "Take note that SESSION lost its connection because of REASON."
  (setf (bridle-session-phase session) 'down
        (bridle-session-trouble session) reason
        (bridle-session-late-requests session) nil)
  (bridle-session-notify session 'down reason))

(defun bridle-session--attached (session payload)
  "Take the answer PAYLOAD to our hello in SESSION."
  (let ((seq (bridle-get-integer payload :seq)))
    (cond
     ((equal (bridle-get-word payload :status) "error")
      (bridle-session--not-attached session payload))
     ((not seq))
     ((and (eq (bridle-session-phase session) 'probing) (> seq 0))
      ;; How long the session is, is known now: its end is fetched, not all of it.
      (bridle-session--rewind session (max 0 (- seq bridle-history-events))))
     (t
      (when (eq (bridle-session-phase session) 'probing)
        (setf (bridle-session-cursor session) seq (bridle-session-floor session) seq))
      (setf (bridle-session-phase session) 'attached
            (bridle-session-trouble session) nil
            (bridle-session-role session) (bridle-get-word payload :role)
            (bridle-session-state session) (or (bridle-get-word payload :state) "idle")
            (bridle-session-load session) (bridle-session--load payload)
            (bridle-session-tail-end session) seq)
      (bridle-wire-attached (bridle-session-wire session))
      (bridle-session-notify session 'attached payload)
      (bridle-session--say-due session)
      (bridle-session--ask-costs session)))))

(defun bridle-session--load (payload)
  "Return what the engine had to do as PAYLOAD, the answer to a hello, says."
  (cl-loop for key in '(:running :waiting :parked)
           for count = (bridle-get-integer payload key)
           when (and count (> count 0)) append (list key count)))

(defun bridle-session--rewind (session cursor)
  "Attach SESSION anew to hear all that came after CURSOR."
  (when (null (bridle-session-floor session))
    (setf (bridle-session-cursor session) cursor))
  (setf (bridle-session-history-floor session) (bridle-session-floor session)
        (bridle-session-floor session) cursor
        (bridle-session-phase session) 'attaching)
  (bridle-wire-send (bridle-session-wire session)
                    `(:type :EVENT :payload ,(bridle-session--hello-payload session cursor))))

(defun bridle-session-fetch-earlier (session count)
  "Have COUNT events from before the ones known of SESSION sent.
Return nil when there are none."
  (let ((floor (bridle-session-floor session)))
    (when (and floor (> floor 0) (bridle-session-is-attached session))
      (bridle-session--rewind session (max 0 (- floor count)))
      t)))

(defun bridle-session--not-attached (session payload)
  "Take the refusal PAYLOAD of our hello in SESSION."
  (let ((reason (or (bridle-get-string payload :message) "refused")))
    (setf (bridle-session-trouble session) reason)
    (if (or (bridle-get payload :retryable)
            (member (bridle-get-word payload :code) bridle-session--retry-codes))
        (bridle-wire--lost (bridle-session-wire session) reason)
      (bridle-wire-close (bridle-session-wire session))
      (setf (bridle-session-phase session) 'refused)
      (bridle-session-notify session 'down reason))))

;;;; Saying

(defun bridle-session-new-id (session)
  "Return an id that nothing else in SESSION has."
  (format "e%s-%d" (bridle-session-prefix session) (cl-incf (bridle-session-count session))))

(cl-defun bridle-session-say (session form &key callback prompt)
  "Say FORM, a plist that begins with `:type', in SESSION; it arrives, once.
CALLBACK is called with the payload of the answer.  PROMPT is the text
that a face shows for it.  Return what stands for it."
  (when (>= (hash-table-count (bridle-session-sayings session)) bridle-session--max-sayings)
    (user-error "%d messages wait for an answer" bridle-session--max-sayings))
  (let* ((id (bridle-session-new-id session))
         (saying (bridle-saying--make :id id :number (bridle-session-count session)
                                      :callback callback :prompt prompt
                                      :form `(,(car form) ,(cadr form) :id ,id ,@(cddr form)))))
    (puthash id saying (bridle-session-sayings session))
    (bridle-session--say-due session)
    saying))

(defun bridle-session-prompt (session text &optional fields callback)
  "Say TEXT in SESSION, with the plist FIELDS beside it in the payload.
CALLBACK is called with the payload of the answer."
  (bridle-session-say session
                      `(:type :EVENT :payload (:sensor :user-prompt :text ,text ,@fields))
                      :prompt text :callback callback))

(defun bridle-session-request (session target payload callback)
  "Ask TARGET, a keyword, of SESSION for PAYLOAD; CALLBACK gets the answer's."
  (bridle-session-say session `(:type :REQUEST ,@(and target (list :target target))
                                      :payload ,payload)
                      :callback callback))

(defun bridle-session-tell (session payload)
  "Say the event PAYLOAD in SESSION if somebody is there; it may be lost."
  (when (bridle-session-is-attached session)
    (let ((id (bridle-session-new-id session)))
      (and (bridle-wire-send (bridle-session-wire session)
                             `(:type :EVENT :id ,id :payload ,payload))
           id))))

(defun bridle-session--say-due (session)
  "Say what was neither acknowledged nor said on this connection of SESSION."
  (when (bridle-session-is-attached session)
    (let ((due nil) (now (bridle-session-connection session)))
      (maphash (lambda (_id saying)
                 (unless (or (bridle-saying-seq saying)
                             (= now (bridle-saying-connection saying)))
                   (push saying due)))
               (bridle-session-sayings session))
      ;; In the order in which they were said: that of the table is another.
      (dolist (saying (sort due (lambda (a b) (< (bridle-saying-number a) (bridle-saying-number b)))))
        (when (bridle-wire-send (bridle-session-wire session) (bridle-saying-form saying))
          (setf (bridle-saying-connection saying) now))))))

(defun bridle-session--answered (session saying payload form)
  "Take PAYLOAD of FORM as the answer to SAYING in SESSION."
  (remhash (bridle-saying-id saying) (bridle-session-sayings session))
  (bridle-session-notify session 'answered (list saying payload form))
  (when (bridle-saying-callback saying)
    (funcall (bridle-saying-callback saying) payload)))

;;;; Hearing

(defun bridle-session--take (session form)
  "Take the message FORM of the daemon of SESSION."
  (let* ((payload (bridle-get form :payload)) (type (bridle-get-word form :type))
         (seq (bridle-get-integer (bridle-get form :meta) :seq))
         (id (bridle-get form :id)) (saying (and id (gethash id (bridle-session-sayings session))))
         (is-error (equal (bridle-get-word payload :status) "error")))
    (cond
     ((and (equal type "response") (equal (bridle-get-word payload :action) "handshake"))
      (bridle-session--attached session payload))
     ((and (equal type "status") (equal (bridle-get-word payload :status) "admitted"))
      (when saying (bridle-session--admit session saying (bridle-get-integer payload :seq)))
      (bridle-session--is-new session (or (bridle-get-integer payload :seq) 0)))
     ((equal type "status") (bridle-session--status session payload))
     (seq (bridle-session--numbered session seq form payload))
     ((and (equal type "response") is-error (null id)
           (memq (bridle-session-phase session) '(probing attaching)))
      (bridle-session--not-attached session payload))
     ((and (equal type "response") saying)
      (if (and is-error (or (bridle-get payload :retryable)
                            (member (bridle-get-word payload :code) bridle-session--retry-codes)))
          (bridle-session--say-later session saying)
        (bridle-session--answered session saying payload form)))
     ((and (equal type "event") (equal (bridle-get-word payload :action) "delta"))
      (bridle-session-notify session 'piece (bridle-session--piece payload)))
     ((and (equal type "event") (equal (bridle-get-word payload :action) "voided"))
      (bridle-session-notify session 'voided
                             (plist-get (bridle-session--piece payload) :thought))))))

(defun bridle-session--piece (payload)
  "Return what a face needs of PAYLOAD, a piece of something in the making.
The offset counts bytes.  An old daemon names the turn alone."
  (list :thought (or (bridle-get-name payload :thought)
                     (format "turn-%s" (or (bridle-get-name payload :turn) "")))
        :channel (or (bridle-get-word payload :channel) "text")
        :offset (bridle-get-integer payload :offset)
        :text (or (bridle-get-string payload :text) "")))

(defun bridle-session--say-later (session saying)
  "Have SAYING said again in SESSION after a moment."
  (run-at-time 0.2 nil (lambda ()
                         (setf (bridle-saying-connection saying) 0)
                         (bridle-session--say-due session))))

(defun bridle-session--admit (session saying seq)
  "Take note that SAYING of SESSION is in the record under SEQ."
  (when (and seq (not (bridle-saying-seq saying)))
    (setf (bridle-saying-seq saying) seq)
    (bridle-session-notify session 'admitted saying)))

(defun bridle-session--is-new (session seq)
  "Whether SEQ of SESSION was not heard before; it counts as heard from now on."
  (let ((cursor (or (bridle-session-cursor session) 0)) (known (bridle-session-known session)))
    (unless (or (<= seq cursor) (gethash seq known))
      (puthash seq t known)
      (while (gethash (1+ cursor) known)
        (cl-incf cursor)
        (remhash cursor known))
      (setf (bridle-session-cursor session) cursor)
      t)))

(defun bridle-session--status (session payload)
  "Take the state of the engine of SESSION from PAYLOAD."
  (setf (bridle-session-state session) (or (bridle-get-word payload :status) "idle")
        (bridle-session-turn session) (bridle-get-integer payload :turn)
        (bridle-session-load session) nil)
  (bridle-session-notify session 'state))

(defun bridle-session--ask-costs (session)
  "Have what the latest thoughts of SESSION cost told, once at a time."
  (pcase (bridle-session-costs-asked session)
    ('nil
     (setf (bridle-session-costs-asked session) 'asked)
     (bridle-session-request
      session :record
      `(:action :costs :session ,(bridle-session-name session)
        :after ,(or (bridle-get-integer (bridle-session-costs session) :last) 0))
      (lambda (payload) (bridle-session--costs session payload))))
    ('asked (setf (bridle-session-costs-asked session) 'again))))

(defun bridle-session--costs (session payload)
  "Take PAYLOAD, which tells what thoughts of SESSION cost."
  (let ((is-due (eq 'again (bridle-session-costs-asked session))))
    (setf (bridle-session-costs-asked session)
          ;; A daemon that does not tell is not asked again.
          (and (member (bridle-get-word payload :code) '("unsupported" "unknown-target" "not-permitted"))
               'never))
    (when (equal "success" (bridle-get-word payload :status))
      (bridle-session--add-costs session payload)
      (bridle-session-notify session 'costs))
    (when is-due (bridle-session--ask-costs session))))

(defun bridle-session--add-costs (session payload)
  "Add the sums of PAYLOAD to those of SESSION."
  (let ((old (bridle-session-costs session)))
    (setf (bridle-session-costs session)
          `(:model ,(or (bridle-get-string payload :model) (bridle-get-string old :model))
            :last ,(bridle-get-integer payload :last)
            ,@(cl-loop for key in '(:thoughts :input-tokens :output-tokens :cost-microdollars
                                    :unpriced :uncounted)
                       collect key
                       collect (+ (or (bridle-get-integer old key) 0)
                                  (max 0 (or (bridle-get-integer payload key) 0))))))))

(defun bridle-session--numbered (session seq form payload)
  "Take event SEQ of SESSION: FORM with its PAYLOAD."
  (let* ((meta (bridle-get form :meta))
         (own (and (bridle-get meta :own) (null (bridle-get form :id))
                   (gethash (bridle-get meta :id) (bridle-session-sayings session))))
         (history (bridle-session-history-floor session))
         (is-new (bridle-session--is-new session seq)))
    (when own (bridle-session--admit session own seq))
    (cond
     ((and (not is-new) history (<= seq history) (> seq (bridle-session-floor session)))
      (bridle-session-notify session 'history form)
      (when (= seq history)
        (setf (bridle-session-history-floor session) nil)
        (bridle-session-notify session 'history-end)))
     ((not is-new))
     (t
      (bridle-session--note-ends session payload)
      (unless own (bridle-session-notify session 'event form))
      (bridle-session--match-answer session form payload)
      (when (and (bridle-get meta :answers) (> seq (or (bridle-session-tail-end session) 0)))
        (bridle-session--ask-costs session))
      (when (and (equal (bridle-get-word form :type) "request") (bridle-get form :id))
        (bridle-session--requested session seq form payload))))
    (bridle-session--flush-late session seq)))

(defun bridle-session--match-answer (session form payload)
  "Give PAYLOAD of FORM to the message of SESSION that it answers."
  (let* ((answers (bridle-get-integer (bridle-get form :meta) :answers))
         (id (bridle-get form :id))
         (saying (and answers
                      (or (and (equal (bridle-get-word form :type) "response")
                               (gethash id (bridle-session-sayings session)))
                          (cl-loop for saying being the hash-values of (bridle-session-sayings session)
                                   when (eql answers (bridle-saying-seq saying)) return saying)))))
    (when saying
      (bridle-session--admit session saying answers)
      (bridle-session--is-new session answers)
      (bridle-session--answered session saying payload form))))

;;;; Requests of the daemon

(defun bridle-session--requested (session seq form payload)
  "Take the request FORM with number SEQ and PAYLOAD in SESSION."
  (if (equal (bridle-get-word form :target) "approval")
      (bridle-session--asked session form payload)
    (if (<= seq (or (bridle-session-tail-end session) 0))
        ;; It is of the past; whether it is still open, the rest of the tail tells.
        (push form (bridle-session-late-requests session))
      (bridle-session--carry-out session form))))

(defun bridle-session--flush-late (session seq)
  "Carry out what is still open in SESSION when SEQ ends the tail."
  (when (and (bridle-session-late-requests session)
             (>= seq (or (bridle-session-tail-end session) 0)))
    (let ((late (nreverse (bridle-session-late-requests session))))
      (setf (bridle-session-late-requests session) nil)
      (dolist (form late) (bridle-session--carry-out session form)))))

(defun bridle-session--carry-out (session form)
  "Do what the request FORM wants in SESSION, once."
  (let ((id (bridle-get form :id)) (meta (bridle-get form :meta)))
    (cond
     ((gethash id (bridle-session-over session)))
     ((eq 'open (gethash id (bridle-session-answered session))))
     ((gethash id (bridle-session-answered session))
      (bridle-wire-send (bridle-session-wire session)
                        (gethash id (bridle-session-answered session))))
     ((let ((deadline (bridle-get-integer meta :deadline)))
        (and deadline (< deadline (* 1000 (float-time))))))
     (t
      (bridle-session--remember session id 'open)
      (let ((payload (condition-case err
                         (funcall bridle-session-request-function session id
                                  (bridle-get form :payload) meta)
                       (error (list :status :error :message (error-message-string err))))))
        (when payload (bridle-session-answer session id payload)))))))

(defun bridle-session-answer (session id payload)
  "Answer request ID of the daemon in SESSION with PAYLOAD."
  (let ((form `(:type :RESPONSE :id ,id :payload ,payload)))
    (bridle-session--remember session id form)
    (bridle-wire-send (bridle-session-wire session) form)))

(defun bridle-session--remember (session id answer)
  "Keep ANSWER to request ID of SESSION until its outcome is heard."
  (bridle-session--keep (bridle-session-answered session) id answer
                        (bridle-session-answered-order session)
                        (lambda (order) (setf (bridle-session-answered-order session) order))))

(defun bridle-session--keep (table key value order set-order)
  "Put VALUE under KEY into TABLE, whose keys are in ORDER, the latest first.
SET-ORDER is called with the new order; the oldest keys are dropped."
  (unless (gethash key table)
    (let ((new (cons key order)))
      (when (> (length new) bridle-session--max-answered)
        (dolist (old (nthcdr (/ bridle-session--max-answered 2) new)) (remhash old table))
        (setq new (cl-subseq new 0 (/ bridle-session--max-answered 2))))
      (funcall set-order new)))
  (puthash key value table))

(defun bridle-session--note-ends (session payload)
  "Take note of requests and questions of SESSION that PAYLOAD ends."
  (pcase (bridle-get-word payload :action)
    ("outcome"
     (let ((id (bridle-get payload :effect)))
       (when id
         (remhash id (bridle-session-answered session))
         (bridle-session--keep (bridle-session-over session) id t
                               (bridle-session-over-order session)
                               (lambda (order) (setf (bridle-session-over-order session) order)))
         (bridle-session-drop-question session id))))
    ("answered"
     (when (bridle-get payload :answer)
       (bridle-session-drop-question session (bridle-get payload :approval))))))

;;;; Questions

(defun bridle-session--asked (session form payload)
  "Keep the question FORM with PAYLOAD of the guard of SESSION."
  (let ((question (bridle-session-read-question session (bridle-get form :id) payload)))
    (setf (bridle-question-deadline question)
          (bridle-get-integer (bridle-get form :meta) :deadline))
    (bridle-session-add-question session question)))

(defun bridle-session-read-question (session id payload)
  "Return the question ID that PAYLOAD of the daemon of SESSION tells."
  (let ((wanted (bridle-get payload :wanted)))
    (bridle-question--make
     :id id :session session :kind 'guard
     :text (or (bridle-get-string payload :question) "")
     :risk (bridle-get-word payload :risk) :target (bridle-get-name payload :target)
     :wanted wanted :hash (bridle-get-string payload :hash)
     :deadline (bridle-get-integer payload :deadline)
     :diff (bridle-get-string (bridle-get wanted :prepared) :diff)
     :scopes (bridle-question-read-scopes payload))))

(defun bridle-question-read-scopes (payload)
  "Return the scopes of PAYLOAD, a question, as lists of a word and a sentence."
  (cl-loop for scope in (bridle-get-list payload :scopes) repeat 16
           for word = (bridle-get-word scope :scope) for allows = (bridle-get-string scope :allows)
           when (and word allows (string-match-p "\\`[-a-z]\\{1,40\\}\\'" word))
           collect (list word allows)))

(defun bridle-question-scope-line (scope)
  "Return SCOPE of a question as a line."
  (format "%s: %s" (car scope) (cadr scope)))

(defun bridle-session-add-question (session question)
  "Open QUESTION in SESSION; return nil when there is no room for it."
  (unless (or (assoc (bridle-question-id question) (bridle-session-questions session))
              (>= (length (bridle-session-questions session)) bridle-session--max-questions))
    (setf (bridle-session-questions session)
          (append (bridle-session-questions session)
                  (list (cons (bridle-question-id question) question))))
    (bridle-session-notify session 'question question)
    (run-hooks 'bridle-questions-changed-hook)
    t))

(defun bridle-session-drop-question (session id)
  "Forget question ID of SESSION: it is answered or over."
  (when (assoc id (bridle-session-questions session))
    (setf (bridle-session-questions session)
          (cl-delete id (bridle-session-questions session) :key #'car :test #'equal))
    (bridle-session-notify session 'question-gone id)
    (run-hooks 'bridle-questions-changed-hook)))

(defun bridle-all-questions ()
  "Return the open questions of all sessions, the oldest first."
  (cl-loop for session in (reverse bridle-sessions)
           append (mapcar #'cdr (bridle-session-questions session))))

(defun bridle-question-give-answer (question verdict)
  "Answer QUESTION with VERDICT, `allow' or `deny'."
  (let ((session (bridle-question-session question)) (id (bridle-question-id question)))
    (pcase (bridle-question-kind question)
      ('local
       (bridle-session-drop-question session id)
       (funcall (bridle-question-answer question) verdict))
      (_
       (unless (bridle-session-is-attached session)
         (user-error "Session %s is not connected; the question stays open"
                     (bridle-session-name session)))
       ;; Only the exact word is a yes, and the hash says to what.
       (bridle-wire-send (bridle-session-wire session)
                         `(:type :RESPONSE :id ,id
                           :payload (:verdict ,(if (eq verdict 'allow) :allow :deny)
                                     ,@(and (bridle-question-hash question)
                                            (list :hash (bridle-question-hash question))))))
       (bridle-session-drop-question session id)))))

;;;; Grants, reasons, effects

(defun bridle-session-grant (question scope duration callback)
  "Allow QUESTION and what SCOPE says beside it, for DURATION.
CALLBACK is called with whether it was done, and a text."
  (bridle-session-request
   (bridle-question-session question) :system
   `(:action :grant :approval ,(bridle-question-id question)
     :scope ,(intern (concat ":" scope)) :for ,duration
     ,@(and (bridle-question-hash question) (list :hash (bridle-question-hash question))))
   (lambda (payload)
     (funcall callback (equal "success" (bridle-get-word payload :status))
              (or (bridle-get-string payload :sentence)
                  (bridle-get-string payload :message) "")))))

(defun bridle-session-preview-grant (question scope duration callback)
  "Have told what a grant of SCOPE for QUESTION allows for DURATION.
CALLBACK is called with whether it is known, and a text."
  (bridle-session-request
   (bridle-question-session question) :system
   `(:action :grant :approval ,(bridle-question-id question)
     :scope ,(intern (concat ":" scope)) :for ,duration :preview t)
   (lambda (payload)
     (let ((is-known (equal "success" (bridle-get-word payload :status))))
       (funcall callback is-known
                (if is-known (bridle-session--offer payload scope)
                  (or (bridle-get-string payload :message) "")))))))

(defun bridle-session--offer (payload scope)
  "Return what PAYLOAD tells of a grant of SCOPE, as lines."
  (let ((offer (cl-find scope (bridle-get-list payload :scopes) :test #'equal
                        :key (lambda (offer) (bridle-get-word offer :scope)))))
    (concat
     (or (bridle-get-string offer :sentence) "")
     (format "\n\nOf the last %s recorded decisions it would have answered %s."
             (or (bridle-get-integer offer :decisions) 0) (or (bridle-get-integer offer :matched) 0))
     (mapconcat (lambda (example) (concat "\n  " example))
                (seq-filter #'stringp (bridle-get-list offer :examples)) "")
     (let ((diff (bridle-get-string payload :diff)))
       (if diff (concat "\n\nWhat is written into the file of policies:\n\n" diff) "")))))

(defun bridle-session-why (session seq callback)
  "Have the reasons of event SEQ of SESSION told.
CALLBACK is called with whether they are known, and the answer or a text."
  (bridle-session-request
   session :record `(:action :why :session ,(bridle-session-name session) :seq ,seq)
   (lambda (payload)
     (if (equal "success" (bridle-get-word payload :status))
         (funcall callback t payload)
       (funcall callback nil (or (bridle-get-string payload :message) "no answer"))))))

(defun bridle-session-find-act (session effect callback)
  "Have the act EFFECT, such as \"work-4\", of SESSION found in the record.
CALLBACK is called with what the record tells of it, or nil, and a text."
  (if (not (string-match "-\\([0-9]\\{1,15\\}\\)\\'" effect))
      (funcall callback nil "it has no number")
    (bridle-session-request
     session :record `(:action :effects :session ,(bridle-session-name session)
                       :effect ,(string-to-number (match-string 1 effect)))
     (lambda (payload)
       (let ((acts (bridle-get-list payload :effects)))
         ;; A name that was used again after it was forgotten counts from 1 again: the last is meant.
         (funcall callback (car (last acts))
                  (or (bridle-get-string payload :message) "the record has no such act")))))))

(provide 'bridle-session)
;;; bridle-session.el ends here
