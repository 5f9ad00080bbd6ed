/** An error of the hub with its hint (RFC 9457). */
export class Problem extends Error {
  /** @param {{status: number, code: string, title: string, detail?: string, hint?: string}} body */
  constructor(body) {
    super(body.detail || body.title);
    this.status = body.status;
    this.code = body.code;
    this.title = body.title;
    this.hint = body.hint ?? "";
    /** @type {Record<string, any>} */
    this.body = body;
  }
}
