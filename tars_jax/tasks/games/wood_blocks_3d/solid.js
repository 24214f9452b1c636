// The same boxes by WebGL: triangles with depth and light, drawn beside the stage and copied onto it, so that the picture of
// the page is that of one canvas. The perspective is that of timber.js, so a point means the same cell.
"use strict";

const VERTEX = `
  attribute vec3 place; attribute vec3 normal; attribute vec2 spot; attribute vec4 tint; attribute float grainy;
  uniform vec2 screen; uniform vec3 eye;
  varying vec3 facing; varying vec2 at; varying vec4 color; varying float grained;
  void main() {
    float farther = (eye.z - place.z) / eye.z;
    vec2 seen = eye.xy + (place.xy - eye.xy) / farther;
    vec2 clip = vec2(2.0 * seen.x / screen.x - 1.0, 1.0 - 2.0 * seen.y / screen.y);
    gl_Position = vec4(clip * farther, (1.0 - 2.0 * place.z / eye.z) * farther, farther);
    facing = normal; at = spot; color = tint; grained = grainy;
  }`;
const FRAGMENT = `
  precision highp float;
  varying vec3 facing; varying vec2 at; varying vec4 color; varying float grained;
  void main() {
    float waves = at.y * 24.0 + 1.6 * sin(at.x * 5.0) + 0.8 * sin(at.x * 11.0 + at.y * 3.0);
    float grain = 1.0 - grained * 0.16 * (0.5 + 0.5 * sin(waves));
    float light = 0.62 + 0.46 * max(0.0, dot(facing, normalize(vec3(-0.45, 0.35, 0.82))));
    float edge = grained * smoothstep(0.86, 1.0, max(abs(2.0 * fract(at.x) - 1.0), abs(2.0 * fract(at.y) - 1.0)));
    gl_FragColor = vec4(color.rgb * grain * light + 0.10 * edge, 1.0) * color.a;
  }`;
const COARSE = 20; // pixels of a block below which its grain would be noise
const FLOATS = 13; // of a vertex: place 3, normal 3, spot 2, tint 4, grainy 1
const LAYOUT = [["place", 3], ["normal", 3], ["spot", 2], ["tint", 4], ["grainy", 1]];

const rgb = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16) / 255);

// Two triangles of a face, whose corners go around it; `spot` runs from 0 to 1 over it.
const face = (corners, normal, color, alpha, grainy) => [0, 1, 2, 0, 2, 3].flatMap((corner) => [
  ...corners[corner], ...normal, [0, 1, 1, 0][corner], [0, 0, 1, 1][corner], ...rgb(color), alpha, grainy,
]);

const facesOf = ({ x, y, wide, high, low, top, wood, alpha = 1 }) => {
  const [lid, , front, side] = TIMBER[wood], r = x + wide, d = y + high, grainy = wide < COARSE ? 0 : 1;
  return [
    ...face([[x, y, top], [r, y, top], [r, d, top], [x, d, top]], [0, 0, 1], lid, alpha, grainy),
    ...face([[x, d, top], [r, d, top], [r, d, low], [x, d, low]], [0, 1, 0], front, alpha, 0),
    ...face([[x, y, top], [x, d, top], [x, d, low], [x, y, low]], [-1, 0, 0], side, alpha, 0),
    ...face([[r, y, top], [r, d, top], [r, d, low], [r, y, low]], [1, 0, 0], side, alpha, 0),
  ];
};

// The canvas that boxes are drawn on, made with the first of them: a page that draws without it needs no WebGL.
const Solid = (() => {
  let canvas = null, gl = null, program = null;

  const part = (kind, source) => {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  };

  const open = () => {
    canvas = document.createElement("canvas");
    gl = canvas.getContext("webgl", { alpha: true, antialias: true, premultipliedAlpha: true });
    if (!gl) throw new Error("this browser has no WebGL");
    program = gl.createProgram();
    part(gl.VERTEX_SHADER, VERTEX);
    part(gl.FRAGMENT_SHADER, FRAGMENT);
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error("WebGL took no shader of Wood Blocks 3D");
    gl.useProgram(program);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    let from = 0;
    for (const [name, size] of LAYOUT) {
      const at = gl.getAttribLocation(program, name);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, size, gl.FLOAT, false, 4 * FLOATS, 4 * from);
      from += size;
    }
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  };

  // Draws boxes onto a stage's context; those that fade come last, over what stands.
  const draw = (context, eye, boxes) => {
    if (!gl) open();
    const { width, height } = context.canvas;
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    gl.viewport(0, 0, width, height);
    gl.uniform2f(gl.getUniformLocation(program, "screen"), width, height);
    gl.uniform3f(gl.getUniformLocation(program, "eye"), eye.x, eye.y, eye.height);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    const fading = ({ alpha = 1 }) => (alpha < 1 ? 1 : 0);
    const vertices = new Float32Array([...boxes].sort((a, b) => fading(a) - fading(b)).flatMap(facesOf));
    gl.bufferData(gl.ARRAY_BUFFER, vertices, gl.STREAM_DRAW);
    gl.drawArrays(gl.TRIANGLES, 0, vertices.length / FLOATS);
    context.drawImage(canvas, 0, 0);
  };

  // A picture without what WebGL draws is of no game: whoever reads the state is told.
  const check = () => {
    if (gl?.isContextLost()) throw new Error("WebGL's context was lost");
  };

  return { draw, check, canvas: () => canvas };
})();
