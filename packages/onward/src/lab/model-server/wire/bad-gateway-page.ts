/** What a proxy in front of an API answers: HTML where the client expects JSON. */
export const BAD_GATEWAY_PAGE: string = [
  '<html>',
  '<head><title>502 Bad Gateway</title></head>',
  '<body>',
  '<center><h1>502 Bad Gateway</h1></center>',
  '<hr><center>nginx</center>',
  '</body>',
  '</html>',
  '',
].join('\r\n');
