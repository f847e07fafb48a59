;;; emacs.el --- Talk to bridle from Emacs, on one screen  -*- lexical-binding: t; -*-

;; Try it:   emacs -Q --batch -l examples/emacs.el -- 9105 '(:type :health-check)'
;; Or load it and evaluate (bridle-example-ask 9105 '(:type :health-check)).

(defun bridle-example-frame (form)
  "Return FORM as a frame: six hex digits that count bytes, then the printed form in UTF-8."
  (let ((payload (encode-coding-string (prin1-to-string form) 'utf-8-unix)))
    (concat (format "%06x" (length payload)) payload)))

(defun bridle-example-unframe ()
  "Take the first frame out of the current, unibyte buffer and read it; nil if it is not all there yet."
  (goto-char (point-min))
  (skip-chars-forward " \t\r\n")
  (when (looking-at "[0-9a-fA-F]\\{6\\}")
    (let* ((start (match-end 0))
           (end (+ start (string-to-number (match-string 0) 16))))
      (when (<= end (point-max))
        (prog1 (car (read-from-string (decode-coding-string (buffer-substring start end) 'utf-8-unix)))
          (delete-region (point-min) end))))))

(defun bridle-example-receive (process)
  "Return the next message that PROCESS sends, or nil when there is none within ten seconds."
  (with-current-buffer (process-buffer process)
    (let ((tries 100) message)
      (while (and (not (setq message (bridle-example-unframe))) (> (setq tries (1- tries)) 0))
        (accept-process-output process 0.1))
      message)))

(defun bridle-example-ask (port &rest forms)
  "Send FORMS to the daemon at PORT and return its hello and its answers."
  (let* ((buffer (generate-new-buffer " *bridle*"))
         (process (progn
                    (with-current-buffer buffer (set-buffer-multibyte nil))
                    (make-network-process :name "bridle" :buffer buffer :host "127.0.0.1" :service port
                                          :coding 'binary :sentinel #'ignore :noquery t))))
    (unwind-protect
        (cons (bridle-example-receive process)
              (mapcar (lambda (form)
                        (process-send-string process (bridle-example-frame form))
                        (bridle-example-receive process))
                      forms))
      (delete-process process)
      (kill-buffer buffer))))

(when noninteractive
  (let ((words (delete "--" command-line-args-left)))
    (setq command-line-args-left nil)
    (when words
      (dolist (answer (apply #'bridle-example-ask (string-to-number (car words))
                             (mapcar (lambda (text) (car (read-from-string text))) (cdr words))))
        (princ (format "%S\n" answer))))))
;;; emacs.el ends here
